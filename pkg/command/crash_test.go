package command

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/storage/crash"
)

// The crash sweep. For every command that writes, each change that it makes
// on disk goes wrong in each way, in a store of its own; and every state of
// the disk that a power cut could leave at any moment is built. What must
// hold afterwards is said at hurt.survives.
//
//	durability score = cases that survived / cases tried
//
// The gate is 100 % and nothing acknowledged lost. Three builds with a
// mistake each must score less, or the sweep is blind.

// mishaps are the ways in which a change goes wrong. N is filled in.
var mishaps = []struct {
	name  string
	fault crash.Fault
}{
	{"killed before", crash.Fault{Mode: crash.KillBefore}},
	{"killed after", crash.Fault{Mode: crash.KillAfter}},
	{"torn write", crash.Fault{Mode: crash.Torn}},
	{"short write", crash.Fault{Mode: crash.Short, Errno: syscall.ENOSPC}},
	{"ENOSPC", crash.Fault{Mode: crash.Fail, Errno: syscall.ENOSPC}},
	{"EIO", crash.Fault{Mode: crash.Fail, Errno: syscall.EIO}},
	{"EROFS", crash.Fault{Mode: crash.Fail, Errno: syscall.EROFS}},
	{"EINTR", crash.Fault{Mode: crash.Fail, Errno: syscall.EINTR}},
	{"late EIO", crash.Fault{Mode: crash.FailLate, Errno: syscall.EIO}},
	{"disk full from then on", crash.Fault{Mode: crash.Fail, Errno: syscall.ENOSPC, Lasting: true}},
	{"read-only from then on", crash.Fault{Mode: crash.Fail, Errno: syscall.EROFS, Lasting: true}},
}

var only = flag.String("scene", "", "sweep only the scenes whose names contain this")

const powerCut = "power cut"

// score counts the cases of one way.
type score struct{ tried, survived, lost int }

func (s score) String() string { return fmt.Sprintf("%d/%d", s.survived, s.tried) }

// board is the score of a sweep.
type board struct {
	mu       sync.Mutex
	ways     map[string]score
	total    score
	problems []string // the first of those that did not survive
}

func (b *board) note(way, what string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.ways[way]
	for _, s := range []*score{&s, &b.total} {
		s.tried++
		if err == nil {
			s.survived++
		} else if errors.Is(err, errLost) {
			s.lost++
		}
	}
	b.ways[way] = s
	if err != nil && len(b.problems) < 20 {
		b.problems = append(b.problems, fmt.Sprintf("%s, %s: %v", what, way, err))
	}
}

// sweep runs cases, some at a time.
type sweep struct {
	*testing.T
	board
	dir    string
	thin   int // one of so many cases is tried
	broken defect
	slots  chan struct{}
	group  sync.WaitGroup
	cases  int
}

func newSweep(t *testing.T, thin int, broken defect) *sweep {
	return &sweep{T: t, board: board{ways: map[string]score{}}, dir: t.TempDir(), thin: thin, broken: broken, slots: make(chan struct{}, 2*runtime.NumCPU())}
}

// try runs one case, unless it is one of those that a thin sweep leaves out.
// A case that cannot be tried at all fails the test.
func (s *sweep) try(way, what string, test func(dir string) (struck bool, err error)) {
	if s.cases++; s.cases%s.thin != 0 {
		return
	}
	dir := filepath.Join(s.dir, fmt.Sprint(s.cases))
	s.slots <- struct{}{}
	s.group.Go(func() {
		defer func() { <-s.slots }()
		defer os.RemoveAll(dir)
		if struck, err := test(dir); struck {
			s.note(way, what, err)
		}
	})
}

// faults makes each change of a scene's line go wrong in each way.
func (s *sweep) faults(at *stage) {
	s.strikeEach(at, at.calls, func(dir string, fault crash.Fault) (bool, answered, error) {
		told, err := answerOf(crashing(dir, plan{Seed: at.cast, Fault: fault, Broken: s.broken}, at.line))
		return true, told, err
	})
}

// strikeEach makes each of calls go wrong in each way; run runs the scene's
// line with a fault and reports whether that came to strike.
func (s *sweep) strikeEach(at *stage, calls []crash.Call, run func(dir string, fault crash.Fault) (bool, answered, error)) {
	for n, call := range calls {
		for _, way := range mishaps {
			if (way.fault.Mode == crash.Torn || way.fault.Mode == crash.Short) && !call.Halves() {
				continue
			}
			fault := way.fault
			fault.N = n + 1
			s.try(way.name, fmt.Sprintf("%s: change %d, %s %s", at.name, fault.N, call.Kind, call.Path), func(dir string) (bool, error) {
				if err := copyTree(at.dir, dir); err != nil {
					return true, err
				}
				struck, told, err := run(dir, fault)
				if err != nil {
					return true, err
				}
				return struck, at.hurt(dir, told).survives()
			})
		}
	}
}

func (at *stage) hurt(dir string, told answered) hurt {
	return hurt{dir: dir, old: at.old, new: at.new, told: told, inParts: at.line[0] == "doctor", lossy: at.lossy}
}

// answerOf runs a command that may be killed and returns what it told its
// caller. An answer that is not one whole response is an error.
func answerOf(cmd *exec.Cmd) (answered, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	failed := cmd.Run()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return told(stdout.String(), 0, true)
	}
	if failed != nil && stdout.Len() == 0 {
		return silent, fmt.Errorf("%w: %s", failed, &stderr)
	}
	return told(stdout.String(), status.ExitStatus(), false)
}

func told(stdout string, status int, killed bool) (answered, error) {
	answer := gjson.Parse(stdout)
	code := answer.Get("error.code").Str
	switch {
	case killed && stdout == "":
		return silent, nil
	case strings.Count(stdout, "\n") != 1 || !gjson.Valid(stdout):
		return silent, fmt.Errorf("not one response: %q", stdout)
	case answer.Get("success").Bool() && (status == 0 || killed):
		return acknowledged, nil
	case code == "T503" && status == 53 && answer.Get("error.details.effect").Str == "none":
		return refused, nil
	case (code == "T503" || code == "T507") && status == 50+int(code[3]-'0') && answer.Get("error.details.effect").Str == "unknown":
		return silent, nil
	}
	return silent, fmt.Errorf("status %d: %s", status, stdout)
}

// powerCuts builds what a power cut at each moment of a scene's line may leave.
func (s *sweep) powerCuts(at *stage, calls []crash.Call) {
	disk, err := crash.Load(at.dir)
	if err != nil {
		s.Fatal(err)
	}
	seen := map[any]bool{}
	cut := func(when string, told answered) {
		for c := range disk.Cuts() {
			if key := [2]any{c.Sum(), told}; !seen[key] {
				seen[key] = true
				s.try(powerCut, at.name+": "+when+", "+c.What, func(dir string) (bool, error) {
					if err := c.Write(dir); err != nil {
						return true, err
					}
					return true, at.hurt(dir, told).survives()
				})
			}
		}
	}
	cut("before it", silent)
	for n, call := range calls {
		disk.Apply(call)
		cut(fmt.Sprintf("after change %d, %s %s", n+1, call.Kind, call.Path), silent)
	}
	cut("after its answer", acknowledged)
}

// TestCrashSweep is the gate: everything survives. The faults are those of
// the hook in storage, which needs nothing but Go.
func TestCrashSweep(t *testing.T) {
	wholeProcesses(t)
	gate(t, thinness(), func(s *sweep, at *stage) int {
		s.faults(at)
		s.powerCuts(at, at.calls)
		return len(at.calls)
	})
}

// gate sweeps every scene with cases, which returns how many changes there
// were, and prints the score.
func gate(t *testing.T, thin int, cases func(*sweep, *stage) int) {
	t.Helper()
	s := newSweep(t, thin, "")
	sets := newSettings(t)
	for _, scene := range scenes {
		if !strings.Contains(scene.name, *only) {
			continue
		}
		at := sets.setUp(t, scene, "")
		if at.old.same(at.new) && at.line[0] != "doctor" {
			t.Errorf("%s changes nothing", at.name)
		}
		before, tried := s.cases, s.total.tried
		if scene.large && !*full {
			s.thin *= 5
		}
		changes := cases(s, at)
		s.group.Wait()
		s.thin = thin
		t.Logf("%-50s %3d changes, %4d of %4d cases tried", at.name, changes, s.total.tried-tried, s.cases-before)
	}
	for _, problem := range s.problems {
		t.Error(problem)
	}
	for way, score := range s.ways {
		t.Logf("%-25s %v", way, score)
	}
	t.Logf("DURABILITY %v = %.2f %%, lost_acked %d", s.total, 100*float64(s.total.survived)/float64(s.total.tried), s.total.lost)
	if s.total.tried == 0 || s.total.survived != s.total.tried || s.total.lost > 0 {
		t.Error("the gate is 100 % and nothing acknowledged lost")
	}
}

// thinness is which part of the cases the short form tries: one of so many.
func thinness() int {
	if *full {
		return 1
	}
	return 23 // prime, so that the ways take turns
}

// TestCrashSweepSeesMistakes holds that a store that makes a mistake scores less.
func TestCrashSweepSeesMistakes(t *testing.T) {
	wholeProcesses(t)
	sets := newSettings(t)
	for _, broken := range []defect{noFileSync, noDirectorySync, writeInPlace} {
		s := newSweep(t, max(1, thinness()/3), broken)
		for _, scene := range scenes {
			switch scene.name {
			case "spawn, inheriting files", "artifact put, over another", "reference":
				at := sets.setUp(t, scene, broken)
				s.faults(at)
				s.powerCuts(at, at.calls)
			}
		}
		s.group.Wait()
		t.Logf("%-20s %v = %.2f %%, lost_acked %d; such as: %s", broken, s.total, 100*float64(s.total.survived)/float64(s.total.tried), s.total.lost, s.problems[:min(1, len(s.problems))])
		if s.total.survived == s.total.tried {
			t.Errorf("%s scores 100 %%: the sweep does not see it", broken)
		}
	}
}

// TestCrashSweepKnowsEveryWrite holds that each command that writes is swept.
func TestCrashSweepKnowsEveryWrite(t *testing.T) {
	for _, c := range table {
		swept := false
		for _, scene := range scenes {
			matched, _ := commands(table).match(scene.line)
			swept = swept || matched == c
		}
		if c.writes && !swept {
			t.Errorf("%s writes, and no scene has it", c.name)
		}
	}
}
