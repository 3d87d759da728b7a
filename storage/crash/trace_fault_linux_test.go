//go:build amd64 || arm64

package crash

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The program prints the counts that it was told, and a torn write is in its place in the file.
func TestShortIsHalfInEveryForm(t *testing.T) {
	t.Parallel()
	for i, want := range []string{
		"4 14 14 10 6 1", // the piece that fits in half
		"14 7 14 10 6 1", // half of all, of the first piece
		"14 14 7 10 6 1",
		"14 14 14 5 6 1",
		"14 14 14 10 3 1",
		"14 14 14 10 6 1", // one byte has no half
	} {
		n := i + 2 // the first call creates the file
		run, output := traced(t, again("forms"), place(t, "source"), &Fault{N: n, Mode: Short})
		if output != want || run.Hit != (n < 7) || run.Exit != 0 {
			t.Errorf("call %d: %s, hit %t, exit %d; want %s", n, output, run.Hit, run.Exit, want)
		}

		dir := place(t, "source")
		run, _ = traced(t, again("forms"), dir, &Fault{N: n, Mode: Torn})
		half, file := run.Calls[n-1], textOf(t, dir, "file")
		if int(half.Ret) != len(half.Data) || !strings.HasPrefix(file[half.At:], string(half.Data)) {
			t.Errorf("%s is said to have written %q, and the file is %q", half, half.Data, file)
		}
	}
}

func TestEachModeDoesWhatItSays(t *testing.T) {
	t.Parallel()
	const head, tail = "line 0\nline 1\n", "line 3\nline 4\n"
	for _, c := range []struct {
		fault         Fault // the third of five lines is the fourth call
		lines, output string
	}{
		{Fault{Mode: KillBefore}, head, ""},
		{Fault{Mode: KillAfter}, head + "line 2\n", ""},
		{Fault{Mode: Torn}, head + "lin", ""},
		{Fault{Mode: Short}, head + "lin" + tail, "3 <nil>\n"},
		{Fault{Mode: Fail}, head + tail, "-1 input/output error\n"},
		{Fault{Mode: Fail, Errno: syscall.EINTR}, head + tail, "-1 interrupted system call\n"},
		{Fault{Mode: FailLate, Errno: syscall.ENOSPC}, head + "line 2\n" + tail, "-1 no space left on device\n"},
		{Fault{Mode: Fail, Errno: syscall.EROFS, Lasting: true}, head, strings.Repeat("-1 read-only file system\n", 3)},
	} {
		t.Run(c.fault.Mode.String(), func(t *testing.T) {
			c.fault.N = 4
			dir := place(t)
			run, output := traced(t, again("append"), dir, &c.fault)
			if got := textOf(t, dir, "lines"); got != c.lines {
				t.Errorf("lines %q, want %q", got, c.lines)
			}
			if kills := c.output == ""; kills != (run.Signal == syscall.SIGKILL) || kills != (run.Exit == -1) || kills != (len(run.Calls) == 4) {
				t.Errorf("exit %d, signal %v, %d calls", run.Exit, run.Signal, len(run.Calls))
			}
			odd := strings.NewReplacer("7 <nil>\n", "").Replace(output)
			if odd != c.output || !run.Hit {
				t.Errorf("output %q, want %q; hit %t", odd, c.output, run.Hit)
			}
			struck := run.Calls[3]
			if whole := c.fault.Mode != KillBefore && c.fault.Mode != Fail; struck.Made != whole {
				t.Errorf("%+v", struck)
			}
		})
	}
}

func TestFaultThatIsNotMet(t *testing.T) {
	t.Parallel()
	for _, fault := range []Fault{{N: 7, Mode: KillBefore}, {N: 1, Mode: Torn}} { // of six calls; of no write
		dir := place(t)
		run, _ := traced(t, again("append"), dir, &fault)
		if run.Hit || run.Exit != 0 || len(run.Calls) != 6 {
			t.Errorf("%+v: %+v", fault, run)
		}
	}
	for _, fault := range []Fault{{}, {N: 1}, {N: -1, Mode: Fail}, {N: 1, Mode: Torn, Lasting: true}, {N: 1, Mode: FailLate + 1}} {
		if _, err := Trace(t.Context(), again("append"), t.TempDir(), &fault); err == nil {
			t.Errorf("%+v is taken", fault)
		}
	}
}

// Of two threads' writes exactly the n-th is struck, whosever it is.
func TestTwoThreadsAreCountedAsOne(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 17, 2*perThread + 1} {
		dir := place(t)
		run, output := traced(t, again("threads"), dir, &Fault{N: n, Mode: Fail, Errno: syscall.ENOSPC})
		lines := strings.Split(strings.TrimSuffix(textOf(t, dir, "lines"), "\n"), "\n")
		if len(run.Calls) != 2*perThread+1 || len(lines) != 2*perThread-1 || strings.Count(output, "no space") != 1 {
			t.Errorf("call %d: %d calls, %d lines, output %s", n, len(run.Calls), len(lines), output)
		}
		if missing := strings.TrimSpace(string(run.Calls[n-1].Data)); slices.Contains(lines, missing) || run.Calls[n-1].Made {
			t.Errorf("call %d should have failed: %q", n, missing)
		}

		dir = place(t)
		run, _ = traced(t, again("threads"), dir, &Fault{N: n, Mode: KillBefore})
		if got := textOf(t, dir, "lines"); len(run.Calls) != n || strings.Count(got, "\n") > n-2 || strings.Contains(got, string(run.Calls[n-1].Data)) {
			t.Errorf("call %d: killed after %d, with lines %s", n, len(run.Calls), got)
		}
	}
}

// A call that a signal breaks off is made again, and is one call all the same.
func TestACallMadeAgainIsOne(t *testing.T) {
	t.Parallel()
	for mode, want := range map[Mode]string{KillAfter: "", Short: "2 <nil>", FailLate: "-1 input/output error"} {
		run, output := traced(t, again("pipe"), place(t), &Fault{N: 3, Mode: mode})
		if output != want || !run.Hit || len(run.Calls) != 3 || !run.Calls[2].Made {
			t.Errorf("%s: output %q, hit %t, calls %v", mode, output, run.Hit, run.Calls)
		}
	}
}
