package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/leslie-sh/leslie/storage"
)

// runProcess runs p with the arguments, streams and environment of this
// process, and ends with its status.
func runProcess(p process, args []string) {
	p.args, p.stdin, p.stdout, p.stderr, p.env = args, os.Stdin, os.Stdout, os.Stderr, os.Environ()
	os.Exit(p.run())
}

func runFaulty() {
	fault, err := failing(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	runProcess(process{commands: table, storage: storage.Options{Intercept: fault}}, os.Args[2:])
}

func runExtra() {
	runProcess(process{commands: append(commands{panicky}, table...)}, os.Args[1:])
}

// failing reads KIND[:N]: which changes fail, all of them or the n-th. The
// kinds are write, which finds no space, syncdata, which loses what was
// written to the log, and state, the forbidden renames of the state file.
func failing(fault string) (func(*storage.Change, func() error) error, error) {
	kind, number, counted := strings.Cut(fault, ":")
	n, err := strconv.Atoi(number)
	if counted && err != nil {
		return nil, err
	}
	kinds := map[string]struct {
		errno   syscall.Errno
		matches func(*storage.Change) bool
	}{
		"write":    {syscall.ENOSPC, func(c *storage.Change) bool { return c.Call == "write" }},
		"syncdata": {syscall.EIO, func(c *storage.Change) bool { return c.Call == "sync" && strings.HasSuffix(c.Path, ".jsonl") }},
		"state":    {syscall.EPERM, func(c *storage.Change) bool { return c.Call == "rename" && c.To == "thread_relations.json" }},
	}
	failing, known := kinds[kind]
	if !known {
		return nil, fmt.Errorf("no such kind of fault: %s", kind)
	}
	count := 0
	return func(change *storage.Change, do func() error) error {
		if failing.matches(change) {
			if count++; !counted || count == n {
				return &os.PathError{Op: change.Call, Path: change.Path, Err: failing.errno}
			}
		}
		return do()
	}, nil
}

const holderProgram = "leslie-holder"

// runHolder holds the lock of the store in a directory, as a writer does,
// says so with a line on stdout, and lets go at the end of stdin.
func runHolder() {
	store, err := storage.Open(os.Args[1], storage.Options{})
	if err == nil {
		_, _, err = store.Update(context.Background(), storage.Operation{Name: "hold"}, func(*storage.Tx) error {
			fmt.Println("held")
			_, err := io.Copy(io.Discard, os.Stdin)
			return err
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// moreThanPipes is more than any pipe holds: who has written so much knows
// that the reader reads.
const moreThanPipes = 4 << 20

// runSignalled sends the signal when the command reads its stdin, or else
// writes something: it is then past its beginning, and waits.
func runSignalled() {
	signal := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}[os.Args[1]]
	cmd := exec.Command("leslie", os.Args[2:]...)
	busy := make(chan struct{}, 2)
	cmd.Stdout, cmd.Stderr = noticing{os.Stdout, busy}, noticing{os.Stderr, busy}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	go func() {
		// A reader that is gone has answered already; its status shows why.
		_, _ = stdin.Write(make([]byte, moreThanPipes))
		busy <- struct{}{}
	}()
	<-busy
	_ = cmd.Process.Signal(signal)
	_ = cmd.Wait()
	os.Exit(cmd.ProcessState.ExitCode())
}

// noticing passes on what is written, and says so the first time.
type noticing struct {
	io.Writer
	busy chan<- struct{}
}

func (n noticing) Write(text []byte) (int, error) {
	select {
	case n.busy <- struct{}{}:
	default:
	}
	return n.Writer.Write(text)
}
