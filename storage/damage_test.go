package storage

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The classes of outcome. The first four are right. The fifth is the limit of
// what files can tell: an earlier acknowledged state, when no intact line of
// anything later is left in any of them, and the log ends as after a crash.
const (
	rightSilent  = "silent"
	rightTold    = "W502"
	refused      = "T502"
	refusedNewer = "T505"
	noTrace      = "no trace"
	wrong        = "wrong"
	panicked     = "panic"
	overwritten  = "overwritten"
)

var classes = []string{rightSilent, rightTold, refused, refusedNewer, noTrace, wrong, panicked, overwritten}

// ledger counts how trials have ended, by kind of damage and file.
type ledger struct {
	sync.Mutex
	rows     map[string]map[string]int
	problems []string
}

func (l *ledger) enter(row, class, problem string) {
	l.Lock()
	defer l.Unlock()
	if l.rows[row] == nil {
		l.rows[row] = map[string]int{}
	}
	l.rows[row][class]++
	if problem != "" {
		l.problems = append(l.problems, row+": "+problem)
	}
}

func (l *ledger) table() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%-42s %9s", "damage and file", "trials")
	for _, class := range classes {
		fmt.Fprintf(&text, " %11s", class)
	}
	total := map[string]int{}
	for _, row := range slices.Sorted(maps.Keys(l.rows)) {
		l.line(&text, row, l.rows[row])
		for class, n := range l.rows[row] {
			total[class] += n
		}
	}
	l.line(&text, "total", total)
	return text.String()
}

func (l *ledger) line(text *strings.Builder, name string, counts map[string]int) {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	fmt.Fprintf(text, "\n%-42s %9d", name, sum)
	for _, class := range classes {
		fmt.Fprintf(text, " %11d", counts[class])
	}
}

// sweep makes every trial, two at a time.
func (l *ledger) sweep(t *testing.T, s *scene, trials func(each func(row string, tr trial))) {
	type job struct {
		row string
		trial
	}
	jobs := make(chan job, 64)
	var group sync.WaitGroup
	for range max(2, runtime.GOMAXPROCS(0)) {
		b := newBench(t, s)
		group.Go(func() {
			for j := range jobs {
				class, problem := b.try(j.trial)
				if problem != "" {
					problem = s.name + ", " + j.at + ": " + problem
				}
				l.enter(j.row, class, problem)
			}
		})
	}
	trials(func(row string, tr trial) { jobs <- job{row, tr} })
	close(jobs)
	group.Wait()
}

// trials gives every damage of the scene, and the row of the table it counts in.
func (e extent) trials(s *scene, seed uint64, each func(row string, tr trial)) {
	if s.name == "large" {
		e.step, e.pieces, e.random = min(e.step*1009, 30_000), 1+e.pieces/8, e.random/20
		each = every(e.thin, each)
	}
	names := map[string]string{statePath: "state", backupPath: ".bak", s.currentLog(): "log"}
	for _, path := range append([]string{statePath, backupPath}, s.logs()...) {
		name, within := names[path], e
		if name == "" {
			name, within.step = "older log", e.step*61
		}
		within.damaged(s, path, func(tr trial) { each(tr.kind+", "+name, tr) })
	}
	e.restored(s, func(tr trial) { each(tr.kind, tr) })
	e.triples(s, seed, func(tr trial) { each(tr.kind, tr) })
}

// every passes on one of n trials.
func every(n int, each func(row string, tr trial)) func(row string, tr trial) {
	count := 0
	return func(row string, tr trial) {
		if count++; count%n == 0 {
			each(row, tr)
		}
	}
}

// TestDamageSweep damages every file of a store of 50 threads in every way: each
// answer is exactly the last acknowledged state, told as recovered where a
// damaged file was needed, or a refusal; reading changes nothing, a refused
// write overwrites nothing, and a write or a repair makes everything whole.
func TestDamageSweep(t *testing.T) {
	alone(t)
	e := extent{step: 499, deeply: 20, pieces: 1, thin: 5, flips: flippings[:1], random: 40}
	if *full {
		e = extent{step: 1, deeply: 31, pieces: 64, thin: 1, flips: flippings, random: 20_000}
	}
	const seed = 20260301
	l := &ledger{rows: map[string]map[string]int{}}
	made := scenes(t)
	for _, s := range made {
		l.sweep(t, s, func(each func(string, trial)) { e.trials(s, seed, each) })
	}
	t.Logf("seed %d\n%s", uint64(seed), l.table())
	for i, problem := range l.problems {
		if i == 40 {
			t.Fatalf("and %d more", len(l.problems)-i)
		}
		t.Error(problem)
	}
}
