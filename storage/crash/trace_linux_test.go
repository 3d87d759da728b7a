//go:build amd64 || arm64

package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// described are the calls, one a line: kind, paths, and what goes with the kind.
func described(calls []Call) string {
	var text strings.Builder
	for _, c := range calls {
		line := c.Kind + " " + c.Path
		switch c.Kind {
		case Rename, Link, Symlink:
			line += " " + c.To
		case Write:
			line += fmt.Sprintf(" %q %d", c.Data, c.At)
		case Truncate:
			line += fmt.Sprint(" ", c.At)
		case Create, Mkdir, Chmod:
			line += fmt.Sprintf(" %o", c.Perm&0o777)
		}
		if !c.Made {
			line += fmt.Sprint(" not made ", c.Ret)
		}
		fmt.Fprintln(&text, line)
	}
	return text.String()
}

// place is a directory to trace in, by the path that the kernel has for it.
func place(t *testing.T, files ...string) string {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "place")
	errs := []error{os.Mkdir(dir, 0o700)}
	for _, name := range files {
		path := filepath.Join(dir, name)
		errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("content"), 0o600))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return dir
}

// traced runs cmd under the tracer in dir, and returns what it printed.
func traced(t *testing.T, cmd *exec.Cmd, dir string, fault *Fault) (Run, string) {
	t.Helper()
	var output strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &output, &output
	run, err := Trace(t.Context(), cmd, dir, fault)
	if err != nil {
		t.Fatalf("%v, it printed %s", err, &output)
	}
	return run, output.String()
}

// made are the calls of a run that has to have exited with 0 and left nothing unseen.
func made(t *testing.T, cmd *exec.Cmd, dir string) string {
	t.Helper()
	run, output := traced(t, cmd, dir, nil)
	if run.Exit != 0 || run.Signal != 0 || run.Hit || run.Unseen != nil {
		t.Errorf("exit %d, signal %d, hit %t, unseen %q, output %s", run.Exit, run.Signal, run.Hit, run.Unseen, output)
	}
	return described(run.Calls)
}

func textOf(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestTraceSeesPublish(t *testing.T) {
	t.Parallel()
	dir := place(t, "sub/file")
	want := `create sub/new 600
write sub/new "content" 0
sync sub/new
rename sub/new sub/file
sync sub
`
	if got := made(t, again("publish"), dir); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestTraceSeesNames(t *testing.T) {
	t.Parallel()
	dir := place(t, "file")
	link := dir + "-link" // the directory by another path
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	cmd := again("names")
	cmd.Env = append(cmd.Env, "PWD="+link)
	run, output := traced(t, cmd, link, nil)
	if run.Exit != 0 {
		t.Error(output)
	}
	gone := filepath.Join(dir, "file (deleted)")
	want := `truncate file 0
write file "ab" 0
write file "cd" 2
write file "X" 3
truncate file 3
chmod file 600
mkdir d 700
link file d/link
symlink d/symlink nowhere
remove file
rename d/link d/renamed
remove d/symlink
truncate d/renamed 1
chmod d/renamed 640
write d/renamed "ef" 1
remove d/renamed
remove d not made -21
remove d
write ` + gone + ` "g" 0
sync ` + gone + "\n"
	if got := described(run.Calls); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestTraceSeesChildren(t *testing.T) {
	t.Parallel()
	dir := place(t, "x")
	want := `create y 666
write y "a\n" 0
truncate x 0
write x "b\n" 0
rename y z
write x "c\n" 2
`
	script := "(echo a > y); echo b > x; mv y z; echo c >> x; echo d > ../outside; cat x > /dev/null"
	if got := made(t, exec.Command("/bin/sh", "-c", script), dir); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestTraceSeesWritesOfEveryForm(t *testing.T) {
	t.Parallel()
	dir := place(t, "source")
	want := `create file 666
write file "abcd0123456789" 0
write file "0123456789abcd" 14
write file "0123456789abcd" 20
write file "0123456789" 40
write file "conten" 28
write file "t" 34
`
	if got := made(t, again("forms"), dir); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

// running are those of a family's processes that have not ended. One whose
// parent died may be a zombie for as long as init takes.
func running(t *testing.T, printed string) (left []int) {
	t.Helper()
	pids := make([]int, 3)
	if _, err := fmt.Sscan(printed, &pids[0], &pids[1], &pids[2]); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	return slices.DeleteFunc(pids, func(pid int) bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ") || strings.Contains(string(stat), ") X ")
	})
}

func TestAFamilyDiesAsOne(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{KillBefore, KillAfter} {
		dir := place(t)
		run, output := traced(t, again("family"), dir, &Fault{N: 1, Mode: mode})
		if left := running(t, output); len(left) > 0 || run.Signal != syscall.SIGKILL {
			t.Errorf("%s: %v live on, %+v", mode, left, run)
		}
	}
}

func TestTheEndOfItsContextEndsARun(t *testing.T) {
	t.Parallel()
	dir := place(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := again("family")
	reader, writer := io.Pipe()
	cmd.Dir, cmd.Stdout = dir, writer
	printed := make(chan string)
	go func() {
		var line [100]byte
		n, _ := reader.Read(line[:])
		cancel()
		printed <- string(line[:n])
	}()
	run, err := Trace(ctx, cmd, dir, &Fault{N: 9, Mode: KillBefore})
	if !errors.Is(err, context.Canceled) || run.Hit {
		t.Errorf("%v, %+v", err, run)
	}
	if left := running(t, <-printed); len(left) > 0 {
		t.Errorf("%v live on", left)
	}
	if _, err := Trace(ctx, again("append"), dir, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("begun after the end: %v", err)
	}
}

func TestSignalsAndStatusPass(t *testing.T) {
	t.Parallel()
	dir := place(t)
	if got := made(t, again("signal"), dir); got != "mkdir caught 700\n" {
		t.Errorf("got %s", got)
	}
	run, _ := traced(t, exec.Command("/bin/sh", "-c", "exit 7"), dir, nil)
	if run.Exit != 7 || run.Signal != 0 {
		t.Errorf("%+v", run)
	}
	run, _ = traced(t, exec.Command("/bin/sh", "-c", "kill -TERM $$"), dir, nil)
	if run.Exit != -1 || run.Signal != syscall.SIGTERM {
		t.Errorf("%+v", run)
	}
	if _, err := Trace(t.Context(), exec.Command(filepath.Join(dir, "none")), dir, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

func TestWhatIsNotSeenIsNamed(t *testing.T) {
	t.Parallel()
	dir := place(t, "file")
	run, _ := traced(t, again("map"), dir, nil)
	if !slices.Equal(run.Unseen, []string{"mmap of file"}) {
		t.Errorf("unseen: %q", run.Unseen)
	}
}

// Threads that have children are left idle, and as many tracers begin at once:
// more than there are other threads.
func TestATracerHasNoOtherChild(t *testing.T) {
	const many = 24
	var started, tracing, group sync.WaitGroup
	started.Add(many)
	tracing.Add(many)
	for range many {
		group.Go(func() {
			runtime.LockOSThread()
			other := exec.Command("/bin/cat")
			input, err := other.StdinPipe()
			if err = errors.Join(err, other.Start()); err != nil {
				t.Error(err)
			}
			started.Done()
			started.Wait()
			runtime.UnlockOSThread()
			tracing.Wait()
			if err := errors.Join(input.Close(), other.Wait()); err != nil {
				t.Error(err)
			}
		})
	}
	started.Wait()
	for range many {
		group.Go(func() {
			onOwnThread(func() {
				tracing.Done()
				tracing.Wait()
				if !childless() {
					t.Error("the thread of a tracer has a child")
				}
			})
		})
	}
	group.Wait()
}

// Other children of this process keep their status, and wait for nobody.
func TestTraceLeavesOtherChildrenAlone(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for range 4 {
		dir := place(t, "sub/file")
		group.Go(func() {
			for range 3 {
				run, output := traced(t, again("publish"), dir, nil)
				if run.Exit != 0 || len(run.Calls) != 5 {
					t.Errorf("%+v %s", run, output)
				}
			}
		})
		group.Go(func() {
			for i := range 30 {
				err := exec.Command("/bin/sh", "-c", fmt.Sprint("exit ", i%2+3)).Run()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != i%2+3 {
					t.Errorf("another command: %v", err)
				}
			}
		})
	}
	group.Wait()
}
