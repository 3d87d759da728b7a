package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/storage/crash"
)

// scene is a store and one command line that writes to it.
type scenery struct {
	name   string
	from   string                 // the scene whose store it begins with; "" for the one of set
	before [][]string             // lines that are run first
	damage func(dir string) error // done to the store after that
	line   []string               // the one that is swept; {ref} is a frozen reference of parser
	large  bool                   // its store is large, so that fewer of its cases are tried
	lossy  bool                   // its damage takes records for good

}

// set is what most scenes begin with: the store of the demo, a little on.
var set = [][]string{
	{"init"},
	{"objective", "create", "--title", "Ship the importer", "--id", "importer"},
	{"spawn", "--id", "design", "--objective", "importer", "--intent", "design the format"},
	{"artifact", "put", "design", "format.md", "--file", "source"},
	{"artifact", "put", "design", "src/deep/main.go", "--file", "source"},
	{"spawn", "--id", "parser", "--objective", "importer", "--intent", "write the parser"},
	{"spawn", "--id", "docs", "--intent", "document the format"},
	{"spawn", "--id", "idle", "--intent", "wait"},
	{"suspend", "idle"},
	{"spawn", "--id", "old", "--intent", "be over"},
	{"done", "old"},
	{"objective", "create", "--title", "Nothing to do", "--id", "empty"},
	{"reference", "--from", "parser", "--target", "design"},
	{"artifact", "put", "design", "format.md", "--file", "other"},
}

var scenes = []scenery{
	{name: "init", from: "nothing", line: []string{"init"}},
	{name: "objective create", line: []string{"objective", "create", "--title", "More", "--id", "more"}},
	{name: "objective complete", line: []string{"objective", "complete", "empty"}},
	{name: "spawn", line: []string{"spawn", "--intent", "work", "--objective", "importer"}},
	{name: "spawn, inheriting files", line: []string{"spawn", "--id", "child", "--intent", "go on", "--parent", "design"}},
	{name: "spawn, with a reference", line: []string{"spawn", "--id", "reader", "--intent", "read", "--ref", "design"}},
	{name: "spawn, several at once", line: []string{"spawn", "--intent", "many", "--count", "3"}},
	{name: "done", line: []string{"done", "parser"}},
	{name: "fail", line: []string{"fail", "parser", "--reason", "no way"}},
	{name: "cancel", line: []string{"cancel", "parser"}},
	{name: "suspend", line: []string{"suspend", "parser"}},
	{name: "resume", line: []string{"resume", "idle"}},
	{name: "reopen", line: []string{"reopen", "old"}},
	{name: "archive", line: []string{"archive", "old"}},
	{name: "lifecycle", line: []string{"lifecycle", "parser", "--action", "done"}},
	{name: "reference", line: []string{"reference", "--from", "docs", "--target", "design"}},
	{name: "reference, live", line: []string{"reference", "--from", "docs", "--target", "design", "--binding", "live"}},
	{name: "reference refresh", line: []string{"reference", "refresh", "{ref}"}},
	{name: "reference remove", line: []string{"reference", "remove", "{ref}"}},
	{name: "artifact put, new", line: []string{"artifact", "put", "docs", "a/b/c.md", "--file", "other"}},
	{name: "artifact put, over another", line: []string{"artifact", "put", "design", "format.md", "--file", "source"}},
	{name: "artifact remove", line: []string{"artifact", "remove", "design", "src/deep/main.go"}},
	{name: "inject", line: []string{"inject", "--target", "parser", "--type", "constraint", "--content", "be quick"}},
	{name: "doctor --repair, nothing wrong", line: []string{"doctor", "--repair"}},

	{name: "after a torn line", damage: appended("ops/1.jsonl", `{"seq":99,"id":"op-`), line: []string{"done", "parser"}},
	{name: "after damage to the state", damage: garbage("thread_relations.json"), line: []string{"done", "parser"}},
	{name: "after damage to state and backup", damage: garbage("thread_relations.json", "thread_relations.json.bak"), line: []string{"done", "parser"}},
	{name: "after damage to the log", damage: garbage("ops/1.jsonl"), line: []string{"done", "parser"}},
	{name: "after the loss of the log", damage: gone("ops/1.jsonl"), line: []string{"artifact", "put", "docs", "a.md", "--file", "other"}},
	{name: "after a kill before the files took their places", damage: killedBefore("artifact", "put", "docs", "late.md", "--file", "other"), line: []string{"done", "parser"}},
	{name: "doctor --repair of a damaged state", damage: garbage("thread_relations.json"), line: []string{"doctor", "--repair"}},
	{name: "doctor --repair of a damaged log", damage: garbage("ops/1.jsonl"), line: []string{"doctor", "--repair"}},
	{name: "doctor --repair where all is damaged", damage: all(garbage("thread_relations.json", "thread_relations.json.bak"), spoilt("ops/1.jsonl")), line: []string{"doctor", "--repair"}, lossy: true},

	{name: "when the log begins a new file", before: [][]string{long("5")}, line: []string{"done", "parser"}, large: true},
	{name: "where the state is too large to be rewritten", before: [][]string{long("18")}, line: []string{"artifact", "put", "docs", "a.md", "--file", "other"}, large: true},
	{name: "when a large state is rewritten", before: [][]string{long("18"), {"done", "docs"}}, line: long("5"), large: true},
	{name: "after the loss of the log of a large state", before: [][]string{long("18")}, damage: gone("ops/2.jsonl"), line: []string{"done", "parser"}, large: true},
}

// long is a line that makes so many threads, of 60 kB each.
func long(count string) []string {
	return []string{"spawn", "--intent", strings.Repeat("long ", 12<<10), "--count", count}
}

// stage holds the store that a scene begins with, and what it shows.
type stage struct {
	scenery
	dir      string
	old, new picture
	calls    []crash.Call // of the line when nothing goes wrong
	cast     string       // the plan's seed
}

// settings are the stores that scenes begin with, made once.
type settings struct {
	*testing.T
	dir string
}

func newSettings(t *testing.T) *settings {
	s := &settings{t, t.TempDir()}
	for _, name := range []string{"nothing", "set"} {
		s.prepare(filepath.Join(s.dir, name))
	}
	s.runAll(filepath.Join(s.dir, "set"), set, "s")
	return s
}

func (s *settings) prepare(dir string) {
	s.check(errors.Join(os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "source"), []byte("rows are records\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "other"), bytes.Repeat([]byte("fields end in a comma\n"), 500), 0o644)))
}

func (s *settings) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *settings) runAll(dir string, lines [][]string, seed string) {
	s.Helper()
	for i, line := range lines {
		stdout, err := crashing(dir, plan{Seed: fmt.Sprintf("%s%dx", seed, i)}, line).Output()
		if err != nil {
			s.Fatalf("%q: %v %s", line, err, stdout)
		}
	}
}

// crashing is a process of leslie-crashing.
func crashing(dir string, p plan, line []string) *exec.Cmd {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(crashingProgram, slices.Concat([]string{string(text)}, line, []string{"--json"})...)
	cmd.Dir = dir
	return cmd
}

// set up makes the store of a scene and runs its line once, with nothing wrong.
func (s *settings) setUp(t *testing.T, scene scenery, broken defect) *stage {
	t.Helper()
	from := scene.from
	if from == "" {
		from = "set"
	}
	at := &stage{scenery: scene, dir: filepath.Join(t.TempDir(), "template"), cast: "x"}
	s.check(copyTree(filepath.Join(s.dir, from), at.dir))
	s.runAll(at.dir, scene.before, "b")
	at.fill()
	if scene.damage != nil {
		s.check(scene.damage(at.dir))
	}
	var err error
	at.old, err = look(at.dir)
	s.check(err)
	if at.old.code == "" {
		at.old.files = s.settled(t, at.dir)
	}
	clean := filepath.Join(t.TempDir(), "clean")
	s.check(copyTree(at.dir, clean))
	record := filepath.Join(t.TempDir(), "record")
	if stdout, err := crashing(clean, plan{Seed: at.cast, Record: record, Broken: broken}, at.line).Output(); err != nil {
		t.Fatalf("%s: %v %s", scene.name, err, stdout)
	}
	at.new, err = look(clean)
	s.check(err)
	at.calls, err = recorded(record)
	s.check(err)
	return at
}

// settled returns the files of the store in dir as the next write leaves them:
// it finishes what was begun.
func (s *settings) settled(t *testing.T, dir string) map[string]string {
	finished := filepath.Join(t.TempDir(), "finished")
	s.check(copyTree(dir, finished))
	s.check(hurt{dir: finished}.succeeds("spawn", "--intent", "go on"))
	seen, err := look(finished)
	s.check(err)
	return seen.files
}

// fill puts the reference's id into the line.
func (at *stage) fill() {
	at.line = slices.Clone(at.line)
	for i, word := range at.line {
		if word == "{ref}" {
			stdout, _ := crashing(at.dir, plan{}, []string{"reference", "list", "parser"}).Output()
			at.line[i] = gjson.GetBytes(stdout, "data.references.0.id").Str
		}
	}
}

func copyTree(from, to string) error { return os.CopyFS(to, os.DirFS(from)) }

// Damage to a store.

func appended(name, text string) func(string) error {
	return func(dir string) error {
		file, err := os.OpenFile(filepath.Join(dir, storeName, name), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = file.WriteString(text)
		return errors.Join(err, file.Close())
	}
}

func garbage(names ...string) func(string) error {
	return func(dir string) (err error) {
		for _, name := range names {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, storeName, name), []byte("not what it was\n"), 0o644))
		}
		return err
	}
}

// spoilt changes one byte of each third line.
func spoilt(name string) func(string) error {
	return func(dir string) error {
		path := filepath.Join(dir, storeName, name)
		content, err := os.ReadFile(path)
		lines := strings.SplitAfter(string(content), "\n")
		for i := 2; i < len(lines); i += 3 {
			lines[i] = strings.Replace(lines[i], ":", ";", 1)
		}
		return errors.Join(err, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644))
	}
}

func gone(name string) func(string) error {
	return func(dir string) error { return os.Remove(filepath.Join(dir, storeName, name)) }
}

func all(damages ...func(string) error) func(string) error {
	return func(dir string) (err error) {
		for _, damage := range damages {
			err = errors.Join(err, damage(dir))
		}
		return err
	}
}

// killedBefore kills a command after its commit, before its file takes its place.
func killedBefore(line ...string) func(string) error {
	return func(dir string) error {
		for n := 1; n < 100; n++ {
			try, err := os.MkdirTemp("", "killed")
			if err != nil {
				return err
			}
			defer os.RemoveAll(try)
			record := filepath.Join(try, "record")
			if err := copyTree(dir, filepath.Join(try, "copy")); err != nil {
				return err
			}
			fault := crash.Fault{N: n, Mode: crash.KillBefore}
			_ = crashing(filepath.Join(try, "copy"), plan{Seed: "k", Fault: fault, Record: record}, line).Run()
			calls, err := recorded(record)
			if err == nil && len(calls) > 0 && committed(calls) {
				_ = crashing(dir, plan{Seed: "k", Fault: fault}, line).Run()
				return nil
			}
		}
		return errors.New("it never came to the commit")
	}
}

func committed(calls []crash.Call) bool {
	last := calls[len(calls)-1]
	return last.Kind == crash.Sync && strings.HasSuffix(last.Path, ".jsonl")
}
