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
	calls, err := failing(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	runProcess(process{commands: table, storage: storage.Options{Calls: calls}}, os.Args[2:])
}

func runExtra() {
	runProcess(process{commands: append(commands{panicky}, table...)}, os.Args[1:])
}

// failing reads KIND[:N]. The kinds are write (which finds no space), sync
// and syncdata (which lose what was written), rename and truncate and link
// (which are not permitted), and state: renames of the state file alone.
func failing(fault string) (storage.Calls, error) {
	kind, number, counted := strings.Cut(fault, ":")
	n, err := strconv.Atoi(number)
	if counted && err != nil {
		return storage.Calls{}, err
	}
	count := 0
	hit := func() bool { count++; return !counted || count == n }
	or := func(errno syscall.Errno, call func() error) error {
		if hit() {
			return errno
		}
		return call()
	}
	switch kind {
	case "write":
		return storage.Calls{WriteAt: func(f *os.File, data []byte, at int64) (int, error) {
			if hit() {
				return 0, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
			}
			return f.WriteAt(data, at)
		}}, nil
	case "sync":
		return storage.Calls{Sync: func(f *os.File) error { return or(syscall.EIO, f.Sync) }}, nil
	case "syncdata":
		return storage.Calls{SyncData: func(f *os.File) error { return or(syscall.EIO, f.Sync) }}, nil
	case "truncate":
		return storage.Calls{Truncate: func(f *os.File, size int64) error {
			return or(syscall.EPERM, func() error { return f.Truncate(size) })
		}}, nil
	case "link":
		return storage.Calls{Link: func(r *os.Root, from, to string) error {
			return or(syscall.EPERM, func() error { return r.Link(from, to) })
		}}, nil
	case "rename", "state":
		return storage.Calls{Rename: func(r *os.Root, from, to string) error {
			call := func() error { return r.Rename(from, to) }
			if kind == "state" && to != "thread_relations.json" {
				return call()
			}
			return or(syscall.EPERM, call)
		}}, nil
	}
	return storage.Calls{}, fmt.Errorf("no such kind of fault: %s", kind)
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
