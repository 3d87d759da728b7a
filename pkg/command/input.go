package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/leslie-sh/leslie/errcodes"
)

// mostContent is the number of bytes that one artifact may have.
const mostContent = 256 << 20

// content reads an artifact from the file called name, or from stdin when
// there is none. Opening and reading end when the context does, also where
// the other end of a pipe stays silent. Codes: T506, T903, T904.
func (c *call) content(name string) ([]byte, error) {
	if name == "" || name == "-" {
		c.drained = true
		return readAll(c.ctx, c.stdin, "stdin")
	}
	file, err := await(c.ctx, func() (*os.File, error) { return os.Open(name) })
	if errors.Is(err, errcodes.Interrupted) {
		return nil, err
	}
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		return nil, errcodes.ReadFailed.With("path", errcodes.Clip(name), "reason", "it is a directory")
	}
	c.drained = err != nil || !info.Mode().IsRegular()
	return readAll(c.ctx, file, name)
}

// readAll reads in to its end; name is what a failure calls it.
func readAll(ctx context.Context, in io.Reader, name string) ([]byte, error) {
	content, err := await(ctx, func() ([]byte, error) {
		var into bytes.Buffer
		_, err := into.ReadFrom(io.LimitReader(in, mostContent+1))
		return into.Bytes(), err
	})
	switch {
	case errors.Is(err, errcodes.Interrupted):
		return nil, err
	case err != nil:
		return nil, unreadable(name, err)
	case len(content) > mostContent:
		return nil, usageError("an artifact has at most 256 MiB", errcodes.Clip(name))
	default:
		return content, nil
	}
}

// await does something in a goroutine of its own, because neither the opening
// nor the reading nor the writing of a file can be interrupted: when ctx ends
// first, its cause (T904) is the error, and the goroutine is left to the end
// of the process.
func await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := do()
		done <- outcome{result, err}
	}()
	select {
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	case ended := <-done:
		return ended.result, ended.err
	}
}

func unreadable(name string, err error) error {
	return errcodes.ReadFailed.With("path", errcodes.Clip(name), "reason", cause(err)).Because(err)
}

// cause returns what the system says of a file, without its path.
func cause(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err.Error()
	}
	return err.Error()
}
