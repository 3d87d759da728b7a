package command

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pipeOf makes a pipe with nobody at its other end.
func pipeOf(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPipesCanBeInterrupted holds that a pipe with nobody at its other end
// is left at the first signal. The second, which gives up on a command that
// hangs, only keeps a broken one from hanging the test.
func TestPipesCanBeInterrupted(t *testing.T) {
	m := newMachine(t)
	id := m.spawn()
	m.stdin = strings.NewReader("content")
	m.ok("artifact", "put", id, "a.md")
	for _, args := range [][]string{
		{"artifact", "put", id, "b.md", "--file", pipeOf(t)},
		{"artifact", "get", id, "a.md", "--out", pipeOf(t)},
	} {
		m.signals <- os.Interrupt
		giveUp := time.AfterFunc(10*time.Second, func() { m.signals <- os.Interrupt })
		if details := m.fails("T904", 130, args...); details["effect"] != "none" {
			t.Errorf("leslie %q: %v", args, details)
		}
		giveUp.Stop()
	}
}

// TestWhatIsReadOnceIsNotRepeated holds that no command is offered that would
// go without the content that the failed one had read.
func TestWhatIsReadOnceIsNotRepeated(t *testing.T) {
	m := newMachine(t)
	id := m.spawn()
	lock, err := os.OpenFile(filepath.Join(m.root, storeName, "thread_relations.json.lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	put := []string{"artifact", "put", id, "a.md", "--retry-attempts", "1"}
	m.stdin = strings.NewReader("content")
	if next, there := m.fails("T501", 51, put...)["next"]; there {
		t.Errorf("what came from stdin is offered again: %v", next)
	}
	if details := m.fails("T501", 51, append(put, "--file", file)...); details["next"] == nil {
		t.Errorf("what came from a file is not offered again: %v", details)
	}
}

func TestForeignStoreIsOfferedByName(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	m := newMachine(t)
	if err := os.Chown(filepath.Join(m.root, storeName), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	t.Chdir(m.root)
	m.env = environment{}
	args := []string{"--json", "list"}
	var stdout strings.Builder
	p := &process{args: args, stdin: m.stdin, stdout: &stdout, stderr: &stdout, commands: table}
	if status := p.run(); status != 53 {
		t.Fatalf("status %d: %s", status, stdout.String())
	}
	details := result{T: t, status: 53, stdout: stdout.String()}.response()["error"].(map[string]any)["details"].(map[string]any)
	if next := details["next"].([]any); len(next) != 1 || next[0] != "leslie --json list --root "+m.root {
		t.Errorf("next is %v", next)
	}
	m.ok("list", "--root", m.root)
}
