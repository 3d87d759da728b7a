//go:build linux && (amd64 || arm64)

package crash

// How a command is traced. The kernel stops a traced thread before and after
// system calls, for each signal, and at its birth, and tells the one thread that
// traces it. So:
//
//  1. A goroutine takes a thread that has no other child, and keeps it: ptrace
//     belongs to a thread, and so do, with __WNOTHREAD, the children that wait4
//     finds. What other goroutines start is neither awaited nor reaped here.
//  2. The command is started stopped, and is made to install a filter (seccomp)
//     by which the kernel stops it at the calls that may change files, and at no
//     other: at every call a run would take twice as long. Its threads and
//     children have the filter, too, and come under the tracer as they are born.
//  3. Each stop is looked at and the thread sent on, until no child is left.
//
// Before a call the tracer decides whether it changes the directory, numbers it
// and, where the fault strikes, turns it into another: into none (its number is
// -1), or into a shorter write. After the call it puts the registers right and
// notes the result. To kill is to send SIGKILL to every process known, and to
// those that appear later, before they run at all.

import (
	"context"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

const (
	exitKill     = 0x100000 // PTRACE_O_EXITKILL: a tracer that dies takes its processes with it
	traceSeccomp = 0x80     // PTRACE_O_TRACESECCOMP: the filter stops threads
	options      = exitKill | traceSeccomp | syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACEEXEC |
		syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEFORK | syscall.PTRACE_O_TRACEVFORK
	ownChildren = syscall.WALL | syscall.WNOTHREAD
	afterCall   = syscall.SIGTRAP | 0x80 // what PTRACE_O_TRACESYSGOOD makes of the stop there
	beforeCall  = 7                      // PTRACE_EVENT_SECCOMP, the filter's stop
)

// tracer watches one command.
type tracer struct {
	dir   string
	fault *Fault
	run   Run
	root  int // the command's own process

	mu     sync.Mutex // a context's end comes from another goroutine
	alive  map[int]*thread
	killed bool
	cause  error // why they were killed, where it was not the fault
	over   bool
}

// thread is one traced thread, of whatever process.
type thread struct {
	settled     bool     // the stop of its birth is over
	call        *pending // between its two stops; nil for a call that changes nothing
	interrupted *pending // one that a signal broke off, to be made again after the signal's handler
}

// Available returns nil where Trace works, else the reason why it does not.
// It starts a process that is killed before it does anything.
var Available = sync.OnceValue(func() (err error) {
	onOwnThread(func() { err = probe() })
	return err
})

func probe() error {
	t, cmd := newTracer("", nil), exec.Command("/proc/self/exe")
	defer t.finish(cmd)
	return t.start(cmd)
}

func newTracer(dir string, fault *Fault) *tracer {
	return &tracer{dir: dir, fault: fault, run: Run{Exit: -1}, alive: map[int]*thread{}}
}

func trace(ctx context.Context, cmd *exec.Cmd, dir string, fault *Fault) (run Run, err error) {
	if err := ctx.Err(); err != nil {
		return Run{}, err
	}
	onOwnThread(func() {
		t := newTracer(dir, fault)
		if err = t.start(cmd); err == nil {
			stop := context.AfterFunc(ctx, func() { t.kill(ctx.Err()) })
			defer stop()
			t.resume(t.root, t.alive[t.root], 0)
			err = t.watch()
		}
		t.finish(cmd)
		run = t.run
	})
	return run, err
}

// onOwnThread runs work on a thread that has no children and that nothing else
// uses. The process's first thread will not do: the kernel hands it the
// children of threads that end. An unfit thread is held until work is done, so
// that the next try gets another.
func onOwnThread(work func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if syscall.Gettid() != syscall.Getpid() && childless() {
			work()
		} else {
			onOwnThread(work)
		}
	}()
	<-done
}

// childless reports whether the calling thread has no child, dead or alive. It reaps none.
func childless() bool {
	const all = 0 // P_ALL
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, all, 0, 0,
		syscall.WEXITED|syscall.WSTOPPED|syscall.WNOHANG|syscall.WNOWAIT|ownChildren, 0, 0)
	return errno == syscall.ECHILD
}

// start starts cmd, and leaves it stopped before its first instruction.
func (t *tracer) start(cmd *exec.Cmd) error {
	attributes := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attributes = *cmd.SysProcAttr
	}
	attributes.Ptrace = true
	attributes.Setpgid = !attributes.Setsid // a terminal's ^C is for the tests, whose end ends the rest
	cmd.SysProcAttr = &attributes
	if err := cmd.Start(); err != nil {
		return err
	}
	t.root = cmd.Process.Pid
	t.alive[t.root] = &thread{settled: true}
	if _, _, err := wait(t.root); err != nil {
		return err
	}
	if err := syscall.PtraceSetOptions(t.root, options); err != nil {
		return err
	}
	return installFilter(process(t.root))
}

// finish kills and reaps what is left, and ends what copies the command's output.
func (t *tracer) finish(cmd *exec.Cmd) {
	t.kill(nil)
	_ = t.watch()
	if cmd.Process != nil {
		_ = cmd.Wait() // knows no more than that the process is reaped
		_ = cmd.Process.Release()
	}
}

// kill ends every process. A thread's number names its process; a process not
// yet known is stopped at its birth, where watch kills it.
func (t *tracer) kill(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	if !t.killed {
		t.killed, t.cause = true, cause
	}
	for pid := range t.alive {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// watch handles every stop, until all processes are reaped. It returns why
// they were killed.
func (t *tracer) watch() error {
	for {
		pid, status, err := wait(-1)
		if err == syscall.ECHILD {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.over = true
			return t.cause
		}
		if err != nil {
			return err
		}
		if status.Stopped() {
			t.stopped(pid, status)
		} else {
			t.gone(pid, status)
		}
	}
}

// wait waits for a stop or the end of one child of this thread, or of any with -1.
func wait(pid int) (int, syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		found, err := syscall.Wait4(pid, &status, ownChildren, nil)
		if err != syscall.EINTR {
			return found, status, err
		}
	}
}

func (t *tracer) gone(pid int, status syscall.WaitStatus) {
	t.forget(pid)
	switch {
	case pid != t.root:
	case status.Signaled():
		t.run.Signal = status.Signal()
	default:
		t.run.Exit = status.ExitStatus()
	}
}

func (t *tracer) forget(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.alive, pid)
}

// admit returns the thread, known or new; a new one dies here where the rest was killed.
func (t *tracer) admit(pid int) *thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.alive[pid] == nil {
		t.alive[pid] = &thread{}
		if t.killed {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return t.alive[pid]
}

func (t *tracer) dying() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.killed
}

// stopped handles one stop and sends the thread on, with the signal it was stopped for.
func (t *tracer) stopped(pid int, status syscall.WaitStatus) {
	one, signal := t.admit(pid), status.StopSignal()
	switch {
	case signal == afterCall:
		t.left(pid, one)
		signal = 0
	case signal == syscall.SIGTRAP && status.TrapCause() > 0:
		t.event(pid, one, status.TrapCause())
		signal = 0
	case signal == syscall.SIGSTOP && !one.settled:
		one.settled = true
		signal = 0
	}
	t.resume(pid, one, signal)
}

// resume sends a thread on: to the end of a call that is under way, else to
// whatever comes. Where it was killed meanwhile, that fails and is no matter.
func (t *tracer) resume(pid int, one *thread, signal syscall.Signal) {
	if one.call != nil {
		_ = syscall.PtraceSyscall(pid, int(signal))
	} else {
		_ = syscall.PtraceCont(pid, int(signal))
	}
}

// event handles the stops that are about no signal; births need nothing done.
func (t *tracer) event(pid int, one *thread, cause int) {
	switch cause {
	case beforeCall:
		t.arrived(pid, one)
	case syscall.PTRACE_EVENT_EXEC:
		t.execed(pid, one)
	}
}

// execed forgets what a process was about before exec. The thread that called
// it, where that was not the first, has become the first, and its own number is gone.
func (t *tracer) execed(pid int, one *thread) {
	one.call, one.interrupted = nil, nil
	if former, err := syscall.PtraceGetEventMsg(pid); err == nil && int(former) != pid {
		t.forget(int(former))
	}
}
