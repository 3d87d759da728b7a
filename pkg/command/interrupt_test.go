package command

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
)

// panicky is a command of the tests alone.
var panicky = &command{name: "panicky", summary: "panics", run: func(*call) (any, error) { panic("out of cheese\nerror code=T000") }}

func TestPanicIsAResponse(t *testing.T) {
	m := newMachine(t)
	m.commands = append(commands{panicky}, table...)
	details := m.fails("T901", 91, "panicky")
	if details["effect"] != "unknown" || !strings.Contains(details["problem"].(string), "out of cheese") {
		t.Error(details)
	}
	log, err := os.ReadFile(filepath.Join(m.root, storeName, "logs", "leslie.log"))
	if err != nil || strings.Count(string(log), "\n") != 1 || !strings.Contains(string(log), "interrupt_test.go") {
		t.Errorf("the log has no stack on its one line: %v %s", err, log)
	}
	if r := m.run("panicky", "--debug", "--json"); !strings.Contains(r.stderr, "interrupt_test.go") {
		t.Errorf("--debug shows no stack: %s", r.stderr)
	}
}

func TestInterrupt(t *testing.T) {
	m := newMachine(t)
	waiting := make(chan struct{}, 1)
	m.commands = append(commands{
		{name: "waits", run: func(c *call) (any, error) {
			waiting <- struct{}{}
			<-c.ctx.Done()
			return nil, context.Cause(c.ctx)
		}},
		{name: "commits", run: func(c *call) (any, error) {
			waiting <- struct{}{}
			<-c.ctx.Done()
			return map[string]any{"done": true}, nil
		}},
		{name: "hangs", run: func(c *call) (any, error) { waiting <- struct{}{}; select {} }},
	}, table...)
	interrupt := func(signals ...os.Signal) {
		go func() {
			<-waiting
			for _, s := range signals {
				m.signals <- s
			}
		}()
	}
	interrupt(os.Interrupt)
	if details := m.fails("T904", 130, "waits"); details["signal"] != "SIGINT" {
		t.Error(details)
	}
	interrupt(syscall.SIGTERM)
	m.fails("T904", 143, "waits")
	interrupt(os.Interrupt)
	m.ok("commits")
	interrupt(os.Interrupt, os.Interrupt)
	if details := m.fails("T904", 130, "hangs"); details["effect"] != "unknown" {
		t.Error(details)
	}
}

func TestInterruptWhileReading(t *testing.T) {
	m := newMachine(t)
	id := m.spawn()
	silent, writer := io.Pipe()
	defer writer.Close()
	m.stdin = readSignal{silent, m.signals}
	m.fails("T904", 130, "artifact", "put", id, "a.md")
}

// readSignal interrupts as soon as it is read from, and stays silent.
type readSignal struct {
	io.Reader
	signals chan os.Signal
}

func (r readSignal) Read(into []byte) (int, error) {
	r.signals <- os.Interrupt
	return r.Reader.Read(into)
}

// refusing takes nothing.
type refusing struct{ io.Writer }

func (refusing) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/full", Err: syscall.ENOSPC}
}

func TestUndelivered(t *testing.T) {
	m := newMachine(t)
	var told strings.Builder
	status := (&process{
		args: []string{"spawn", "--intent", "x", "--json"}, stdin: m.stdin, stdout: refusing{}, stderr: &told,
		env: environment{"LESLIE_ROOT=" + m.root}, commands: table,
	}).run()
	if status != 53 || !strings.Contains(told.String(), "code=T503") || !strings.Contains(told.String(), "effect=complete") {
		t.Errorf("status %d: %s", status, told.String())
	}
	if m.ok("list")["count"] != 1.0 {
		t.Error("the thread whose answer was lost is not there")
	}
}

func TestExitStatus(t *testing.T) {
	for err, want := range map[error]int{
		nil: 0,
		errcodes.CircularReference.With("path", []string{"a", "a"}): 21,
		errors.New("no code"):                          91,
		errcodes.Interrupted.With("signal", "SIGTERM"): 143,
	} {
		if got := exitStatus(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

func TestAttemptsAreLogged(t *testing.T) {
	m := newMachine(t)
	lock, err := os.OpenFile(filepath.Join(m.root, storeName, "thread_relations.json.lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if details := m.fails("T501", 51, "spawn", "--intent", "x", "--retry-attempts", "2"); details["attempts"] != 2.0 {
		t.Error(details)
	}
	var levels []string
	for _, entry := range m.ok("logs")["entries"].([]any) {
		levels = append(levels, entry.(map[string]any)["level"].(string))
	}
	if strings.Join(levels, " ") != "warn error" {
		t.Errorf("the log has %v", levels)
	}
}
