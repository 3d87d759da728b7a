// Package crash is for tests: it shows what stays of a directory when the
// programs that write it are cut off.
//
// [Trace] runs a command and sees every call by which it changes the file
// system under a directory, and can make one of them go wrong: the processes
// die before it, after it or in its middle, or the call fails. It needs no
// hook in the program, no privilege and no other tool, only ptrace(2).
package crash

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Patience is how long a traced command may take where its context has no deadline.
const Patience = time.Minute

// Mode is a way in which a call goes wrong.
type Mode int

// The modes of a fault. Those that kill, kill the command, its threads and
// its children at once.
const (
	KillBefore Mode = iota + 1 // the call is not made; all are killed
	KillAfter                  // the call is made; all are killed before it returns
	Torn                       // half of a write is made; all are killed before it returns
	Short                      // half of a write is made, and it says so
	Fail                       // the call is not made, and returns an error
	FailLate                   // the call is made, and returns an error all the same
)

var modeNames = map[Mode]string{
	KillBefore: "kill before", KillAfter: "kill after", Torn: "torn", Short: "short", Fail: "fail", FailLate: "fail late",
}

// String is the mode in words.
func (m Mode) String() string { return modeNames[m] }

// Fault says which call goes wrong, and how. Torn and Short strike only where
// that call writes two bytes or more; any other is left alone, and Run.Hit
// stays false.
type Fault struct {
	N       int           // the n-th call of Run.Calls, from 1
	Mode    Mode          // how it goes wrong
	Errno   syscall.Errno // what Fail and FailLate return; EIO where it is zero
	Lasting bool          // those after it go wrong as well, as on a disk that stays full; not for modes that kill
}

func (f *Fault) check() error {
	switch {
	case f == nil:
		return nil
	case f.N < 1 || modeNames[f.Mode] == "":
		return fmt.Errorf("no such fault: call %d, mode %d", f.N, f.Mode)
	case f.Lasting && (f.Mode == KillBefore || f.Mode == KillAfter || f.Mode == Torn):
		return fmt.Errorf("a fault that kills (%s) cannot last", f.Mode)
	}
	return nil
}

// strikes reports whether the n-th call is to go wrong.
func (f *Fault) strikes(n int) bool {
	return f != nil && (n == f.N || f.Lasting && n > f.N)
}

func (f *Fault) errno() syscall.Errno {
	if f.Errno == 0 {
		return syscall.EIO
	}
	return f.Errno
}

// The kinds of calls; see Call.
const (
	Create   = "create"   // a file comes to be: open with O_CREAT where none was, mknod
	Write    = "write"    // Data at the offset At
	Truncate = "truncate" // to At bytes; an open with O_TRUNC of a file that was there
	Allocate = "allocate" // fallocate in all its modes
	Sync     = "sync"     // of one file or directory; with Path "." and Name sync or syncfs, of all
	Flush    = "flush"    // sync_file_range, which promises nothing for a power cut
	Chmod    = "chmod"    // to Perm
	Mkdir    = "mkdir"    // with Perm, less the umask
	Rename   = "rename"   // Path becomes To
	Exchange = "exchange" // Path and To change places
	Link     = "link"     // To is a further name of Path
	Symlink  = "symlink"  // Path points to the text in To
	Remove   = "remove"   // of a file, a link or an empty directory
)

// Call is one system call that changes the file system, or makes a change
// durable. One that failed by itself, such as a mkdir of what is there, is a
// call too, and was not made. A write that a signal broke off and the kernel
// began anew is one call.
type Call struct {
	Kind string // one of the kinds above
	Name string // of the system call, such as pwrite64

	// Path is relative to the traced directory, which is "."; a path that
	// lies outside is absolute. Symlinks on the way to it are resolved. An open
	// file that has no name any more lies outside, at its last, as the
	// kernel has it: "/tmp/dir/file (deleted)".
	Path, To string

	Data []byte // what reached the file or, where the call was not made, what should have
	At   int64  // the offset of a write, the length after a truncate
	Perm uint32 // of Create, Mkdir and Chmod, as asked for

	Made bool  // the kernel made it, whatever the program was told; false where a kill came between
	Ret  int64 // what the program was told: a count, a descriptor, or an errno below zero, which is
	// EINTR where it was told nothing
}

// Halves reports whether Torn and Short can strike the call.
func (c Call) Halves() bool { return c.Kind == Write && len(c.Data) > 1 }

// String is the call in one line, for the message of a test.
func (c Call) String() string {
	text := c.Name + " " + c.Path
	if c.To != "" {
		text += " -> " + c.To
	}
	if c.Kind == Write {
		text += fmt.Sprintf(" %d bytes at %d", len(c.Data), c.At)
	}
	return fmt.Sprintf("%s = %d", text, c.Ret)
}

// Run is what a traced command did.
type Run struct {
	Calls  []Call         // in the order in which they began
	Exit   int            // the command's exit status; -1 where a signal ended it
	Signal syscall.Signal // that signal
	Hit    bool           // the fault struck

	// Unseen names ways to change files that the command used and Calls does
	// not show: shared writable mappings of files under the directory,
	// io_uring, and processes of another architecture.
	Unseen []string
}

func (r *Run) addUnseen(what string) {
	if !slices.Contains(r.Unseen, what) {
		r.Unseen = append(r.Unseen, what)
	}
}

// Trace runs cmd, makes the fault happen where fault is not nil, and returns
// the calls by which cmd, its threads and its children changed what lies under
// dir. It returns when all of them have ended, also those in sessions of
// their own. Where ctx or Patience ends before, they are killed, and the
// error wraps the context's.
//
// It takes cmd as exec.Cmd.Run does, but for SysProcAttr, to which it adds;
// cmd.ProcessState is not set, see Run. Any number may run at once, beside other
// children of this process. Signals reach the command as ever, but
// one that is stopped (SIGSTOP) goes on.
func Trace(ctx context.Context, cmd *exec.Cmd, dir string, fault *Fault) (Run, error) {
	if err := fault.check(); err != nil {
		return Run{}, err
	}
	dir, err := physical(dir)
	if err != nil {
		return Run{}, err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, Patience)
		defer cancel()
	}
	run, err := trace(ctx, cmd, dir, fault)
	if err != nil {
		return run, fmt.Errorf("trace %s: %w", cmd.Path, err)
	}
	return run, nil
}

// physical is the directory's path as the kernel names it.
func physical(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}
