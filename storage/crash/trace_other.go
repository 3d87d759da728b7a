//go:build !linux || !(amd64 || arm64)

package crash

import (
	"context"
	"errors"
	"os/exec"
)

var errNowhere = errors.New("processes are traced on Linux only, on amd64 and arm64")

// Available returns nil where Trace works, else the reason why it does not.
func Available() error { return errNowhere }

func trace(context.Context, *exec.Cmd, string, *Fault) (Run, error) { return Run{}, errNowhere }
