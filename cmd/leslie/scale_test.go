package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/tidwall/gjson"
)

// TestScale measures whole processes, since a command is a process, on stores
// of several sizes and ages, and prints one table. It fails where an answer is
// wrong, never because of a time.
//
//	go test -v -run '^TestScale$' -timeout 60m ./cmd/leslie -full
func TestScale(t *testing.T) {
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	sizes, runs := []size{{100, 10}, {2_000, 10}, {100, 100}}, 3
	if *full {
		sizes, runs = []size{{100, 10}, {1_000, 10}, {10_000, 10}, {100_000, 10}, {100, 1_000}}, 41
	}
	tools := build(t)
	var rows []row
	for _, subject := range subjects {
		if program, _, _ := strings.Cut(subject.commands[0], " "); tools.path(program) != "" {
			rows = append(rows, row{subject: subject})
		}
	}
	for _, size := range sizes {
		s := store{t, tools, t.TempDir()}
		s.begin()
		s.grow(size.threads, size.operations)
		s.examine(size)
		for i := range rows {
			rows[i].figures = append(rows[i].figures, s.measure(rows[i].subject, runs))
		}
		s.must(os.RemoveAll(s.dir))
	}
	fmt.Print(table(sizes, rows, runs))
}

// size is how much a store has: threads, and operations of each.
type size struct{ threads, operations int }

// subject is one thing that is measured: a command, or several in turn.
type subject struct {
	name     string
	heavy    bool   // it is run less often
	lost     string // a file that goes before
	commands []string
	status   int
	right    func(answer gjson.Result) bool // what every answer must be
}

const (
	note = "what is known so far, in a line\n"
	hops = 10 // the references of a chain, one after the other
)

var subjects = []subject{
	{name: "true", commands: []string{"true"}},
	{name: "git rev-parse", commands: []string{"git rev-parse"}},
	{name: "version", commands: []string{"leslie version"}, right: has("success", "true")},
	{name: "read", commands: []string{"leslie status needle"}, right: has("data.thread.id", "needle")},
	{name: "write", commands: []string{"leslie suspend needle", "leslie resume needle"}, right: has("data.threadId", "needle")},
	{name: "list", commands: []string{"leslie list --full"}, right: has("data.threads.49.id", "needle")},
	{name: "reference", commands: []string{"leslie reference --from needle --target link-0"}, right: has("data.snapshotVersion", "1")},
	{name: "circle refused", commands: []string{"leslie reference --from link-10 --target link-0"}, status: 21, right: circular},
	{name: "context", commands: []string{"leslie context link-9"}, right: briefed},
	{name: "artifact get", commands: []string{"leslie artifact get needle notes.md"}, right: has("data.content", note)},
	{name: "log", commands: []string{"leslie log --full"}, right: has("data.count", "50")},
	{name: "log --of", heavy: true, commands: []string{"leslie log --of " + patternTarget}, right: has("data.count", "2")},
	{name: "doctor", heavy: true, commands: []string{"leslie doctor"}, right: has("data.healthy", "true")},
	{name: "read without state", heavy: true, lost: "thread_relations.json", commands: []string{"leslie status needle"}, right: recovered},
}

func has(path, value string) func(gjson.Result) bool {
	return func(answer gjson.Result) bool { return answer.Get(path).String() == value }
}

// circular reports whether the answer names the circle, all of it.
func circular(answer gjson.Result) bool {
	path := answer.Get("error.details.path").Array()
	return answer.Get("error.code").Str == "T201" && len(path) == hops+2 && path[0].Str == "link-10" && path[hops+1].Str == "link-10"
}

// recovered reports whether the answer is right and says where it is from.
func recovered(answer gjson.Result) bool {
	return answer.Get("data.thread.id").Str == "needle" && answer.Get("warnings.0.code").Str == "W502"
}

func briefed(answer gjson.Result) bool {
	return strings.Contains(answer.Get("data.context").Str, `thread="link-10"`)
}

// row is the line of a subject in the table, a figure for each size.
type row struct {
	subject
	figures []figure
}

// figure is what came of all runs of a subject on one store.
type figure struct {
	times  []time.Duration // sorted
	memory int64           // the most of any run, in KB
}

func (f figure) megabytes() float64 { return float64(f.memory) / 1024 }

func (f figure) median() float64 { return milliseconds(f.times[len(f.times)/2]) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// measure runs a subject and checks every answer.
func (s store) measure(subject subject, runs int) (f figure) {
	s.Helper()
	if subject.heavy {
		runs = (runs + 19) / 20
	}
	if subject.lost != "" {
		s.must(os.Remove(filepath.Join(s.dir, ".leslie", subject.lost)))
	}
	for _, run := range s.launch(runs, subject.commands) {
		f.times, f.memory = append(f.times, run.took), max(f.memory, run.memory)
		if run.status != subject.status || subject.right != nil && !subject.right(run.answer) {
			s.Errorf("%s ends with %d and answers %.2000s", subject.name, run.status, run.answer.Raw)
		}
	}
	slices.Sort(f.times)
	return f
}

// table is everything that was measured.
func table(sizes []size, rows []row, runs int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "whole processes: median and slowest of %d in ms, peak memory in MB\n\n", runs)
	out := tabwriter.NewWriter(&text, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(out, "threads\t")
	for _, size := range sizes {
		fmt.Fprintf(out, "%d\t", size.threads)
	}
	fmt.Fprint(out, "\noperations of each\t")
	for _, size := range sizes {
		fmt.Fprintf(out, "%d\t", size.operations)
	}
	for _, row := range rows {
		fmt.Fprintf(out, "\n%s\t", row.name)
		for _, f := range row.figures {
			fmt.Fprintf(out, "%.1f %.1f %4.1f\t", f.median(), milliseconds(f.times[len(f.times)-1]), f.megabytes())
		}
	}
	fmt.Fprintln(out)
	out.Flush()
	for _, name := range []string{"read", "write"} {
		fmt.Fprintln(&text, flatness(rows[slices.IndexFunc(rows, func(r row) bool { return r.name == name })]))
	}
	return text.String()
}

// flatness says how much the medians of a row differ, and its memory.
func flatness(r row) string {
	byTime := func(a, b figure) int { return cmp.Compare(a.median(), b.median()) }
	byMemory := func(a, b figure) int { return cmp.Compare(a.memory, b.memory) }
	least, most := slices.MinFunc(r.figures, byTime).median(), slices.MaxFunc(r.figures, byTime).median()
	small, large := slices.MinFunc(r.figures, byMemory).megabytes(), slices.MaxFunc(r.figures, byMemory).megabytes()
	verdict := "not within 2x"
	if most <= 2*least {
		verdict = "flat within 2x"
	}
	return fmt.Sprintf("%s: %.1f to %.1f ms (%.2fx), %.1f to %.1f MB (%.2fx): %s", r.name, least, most, most/least, small, large, large/small, verdict)
}
