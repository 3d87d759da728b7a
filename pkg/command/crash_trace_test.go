package command

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leslie-sh/leslie/storage/crash"
)

// TestTracedCrashSweep is the same gate from outside, where processes can be
// traced: each system call goes wrong that changes the store, whoever makes it.
func TestTracedCrashSweep(t *testing.T) {
	wholeProcesses(t)
	if err := crash.Available(); err != nil {
		t.Skip(err)
	}
	gate(t, 3*thinness(), func(s *sweep, at *stage) int {
		clean := filepath.Join(s.TempDir(), "traced")
		if err := copyTree(at.dir, clean); err != nil {
			t.Fatal(err)
		}
		run, _, err := traced(clean, at, nil)
		if err != nil {
			t.Fatalf("%s: %v", at.name, err)
		}
		hooked(t, at, run.Calls)
		s.strikeEach(at, run.Calls, func(dir string, fault crash.Fault) (bool, answered, error) {
			run, told, err := traced(dir, at, &fault)
			return run.Hit, told, err
		})
		s.powerCuts(at, run.Calls)
		return len(run.Calls)
	})
}

// traced runs a scene's line under the tracer.
func traced(dir string, at *stage, fault *crash.Fault) (crash.Run, answered, error) {
	var stdout bytes.Buffer
	cmd := crashing(dir, plan{Seed: at.cast, Synced: true}, at.line)
	cmd.Stdout = &stdout
	run, err := crash.Trace(context.Background(), cmd, dir, fault)
	if err != nil {
		return run, silent, err
	}
	answer, err := told(stdout.String(), run.Exit, run.Signal != 0)
	return run, answer, err
}

var temporaryName = regexp.MustCompile(`object-\w+`)

// hooked holds that the hook in storage sees every call by which the store is
// changed. What is no part of it is left out: the lock, which has no content,
// the name of its holder, which is advice, and the logs.
func hooked(t *testing.T, at *stage, calls []crash.Call) {
	t.Helper()
	apart := func(c crash.Call) bool {
		return !c.Made || strings.Contains(c.Path, ".json.lock") || strings.Contains(c.Path, ".json.holder") ||
			c.Path == filepath.Join(storeName, "logs") || strings.Contains(c.Path, "/logs/")
	}
	inWords := func(calls []crash.Call) (lines []string) {
		for _, c := range calls {
			if !apart(c) {
				lines = append(lines, temporaryName.ReplaceAllString(c.Kind+" "+c.Path+" "+c.To, "object-"))
			}
		}
		return lines
	}
	seen, made := inWords(at.calls), inWords(calls)
	if !slices.Equal(seen, made) {
		t.Errorf("%s: the hook saw\n%s\nand the tracer\n%s", at.name, strings.Join(seen, "\n"), strings.Join(made, "\n"))
	}
}
