package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// tools are the programs that a measurement needs, in a directory: leslie as
// it is released, and what runs it.
type tools string

func build(t *testing.T) tools {
	t.Helper()
	dir := t.TempDir()
	for name, source := range map[string]string{"leslie": ".", "launch": "./testdata/launch"} {
		build := exec.Command("go", "build", "-trimpath", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", filepath.Join(dir, name), source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building: %v\n%s", err, out)
		}
	}
	return tools(dir)
}

// path returns where a program is; "" where this machine has none.
func (t tools) path(name string) string {
	if name == "leslie" || name == "launch" {
		return filepath.Join(string(t), name)
	}
	path, _ := exec.LookPath(name)
	return path
}

// store is a directory with a store in which real processes run.
type store struct {
	*testing.T
	tools
	dir string
}

func (s store) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// command prepares a process that sees nothing of the caller's settings.
func (s store) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(s.path(name), args...)
	cmd.Dir, cmd.Env = s.dir, []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "LESLIE_FORMAT=json"}
	return cmd
}

// leslie runs a command and returns its data.
func (s store) leslie(args ...string) gjson.Result {
	s.Helper()
	cmd := s.command("leslie", args...)
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("leslie %q: %v: %s", args, err, out)
	}
	return gjson.GetBytes(out, "data")
}

// few is how many threads begin makes.
const few = 1 + (hops + 1) + 2

// begin makes a store of a few threads: needle, which is looked for; a chain
// of links, of which each refers to the next; and the two whose operations are
// multiplied, as the last four of the log.
func (s store) begin() {
	s.Helper()
	s.must(os.WriteFile(filepath.Join(s.dir, "notes.md"), []byte(note), 0o600))
	if s.path("git") != "" {
		s.must(s.command("git", "init", "-q").Run())
	}
	s.leslie("init")
	s.leslie("spawn", "--id", "needle", "--intent", "the one that is looked for")
	s.leslie("inject", "--target", "needle", "--type", "constraint", "--content", "be brief")
	s.leslie("artifact", "put", "needle", "notes.md", "--file", "notes.md")
	for n := hops; n >= 0; n-- {
		link := "link-" + strconv.Itoa(n)
		s.leslie("spawn", "--id", link, "--intent", "one of a chain")
		if n < hops {
			s.leslie("reference", "--from", link, "--target", "link-"+strconv.Itoa(n+1))
		}
	}
	s.leslie("spawn", "--id", patternTarget, "--intent", "to be referred to")
	s.leslie("spawn", "--id", patternThread, "--intent", "an intent of the usual length, a sentence or two of what to do")
	s.leslie("reference", "--from", patternThread, "--target", patternTarget, "--binding", "live")
	s.leslie("suspend", patternThread)
	s.leslie("resume", patternThread)
}

// examine checks that the store is whole and has what it is measured for.
func (s store) examine(is size) {
	s.Helper()
	found := s.leslie("doctor")
	threads, logged := found.Get("checks.#(name=threads).count").Int(), found.Get("checks.#(name=log).count").Int()
	last := s.leslie("log", "--limit", "1").Get("operations.0.seq").Int()
	if !found.Get("healthy").Bool() || threads != int64(is.threads) || logged != last || last < threads*int64(is.operations)*4/5 {
		s.Errorf("there are to be %d threads with %d operations each, the last operation is %d, and the doctor says %s", is.threads, is.operations, last, found.Raw)
	}
}

// run is one process that has ended.
type run struct {
	took   time.Duration
	memory int64 // in KB, at its peak
	status int
	answer gjson.Result
}

// launch runs commands in turn, so many in all, from a process that is small
// enough not to be taken for their memory.
func (s store) launch(times int, commands []string) []run {
	s.Helper()
	report := filepath.Join(s.dir, "report")
	args := []string{report, strconv.Itoa(times)}
	for i, command := range commands {
		words := strings.Fields(command)
		words[0] = s.path(words[0])
		if i > 0 {
			args = append(args, ",")
		}
		args = append(args, words...)
	}
	cmd := s.command("launch", args...)
	answers, err := os.Create(filepath.Join(s.dir, "answers"))
	s.must(err)
	defer answers.Close()
	cmd.Stdout, cmd.Stderr = answers, os.Stderr
	s.must(cmd.Run())
	return s.runs(report, answers.Name())
}

// runs reads what launch reports and what the processes answered.
func (s store) runs(report, answers string) (list []run) {
	s.Helper()
	reported, err := os.ReadFile(report)
	s.must(err)
	answered, err := os.ReadFile(answers)
	s.must(err)
	lines := strings.SplitAfter(string(answered), "\n")
	for line := range strings.Lines(string(reported)) {
		var r run
		var micros int64
		_, err := fmt.Sscan(line, &micros, &r.memory, &r.status)
		s.must(err)
		r.took, r.answer = time.Duration(micros)*time.Microsecond, gjson.Parse(lines[0])
		lines = lines[min(1, len(lines)-1):]
		list = append(list, r)
	}
	return list
}
