package command

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestTakeApart(t *testing.T) {
	arity := map[string]bool{"title": true, "tag": true, "all": false, "format": true, "json": false, "help": false}
	for _, c := range []struct {
		args, words []string
		flags       []given
		problem     string
	}{
		{args: []string{"spawn", "--title", "x", "a"}, words: []string{"spawn", "a"}, flags: []given{{"title", "x"}}},
		{args: []string{"--title=", "spawn"}, words: []string{"spawn"}, flags: []given{{"title", ""}}},
		{args: []string{"--title=a=b"}, flags: []given{{"title", "a=b"}}},
		{args: []string{"--title", "-x"}, flags: []given{{"title", "-x"}}},
		{args: []string{"--title", "--nope"}, flags: []given{{"title", "--nope"}}},
		{args: []string{"--title", "-h"}, flags: []given{{"title", "-h"}}},
		{args: []string{"--title", "--all"}, flags: []given{{"all", "true"}}, problem: "--title needs a value"},
		{args: []string{"--title", "--", "x"}, words: []string{"x"}, problem: "--title needs a value"},
		{args: []string{"--title"}, problem: "--title needs a value"},
		{args: []string{"--all", "x"}, words: []string{"x"}, flags: []given{{"all", "true"}}},
		{args: []string{"--all=0"}, flags: []given{{"all", "false"}}},
		{args: []string{"--all=no"}, flags: []given{{"all", "no"}}},
		{args: []string{"-h", "-"}, words: []string{"-"}, flags: []given{{"help", "true"}}},
		{args: []string{"a", "--", "--title", "-h"}, words: []string{"a", "--title", "-h"}},
		{args: []string{"--tag", "a", "--tag", "b"}, flags: []given{{"tag", "a"}, {"tag", "b"}}},
		{args: []string{"-title", "x"}, words: []string{"x"}, problem: "unknown flag -title"},
		{args: []string{"--titel=x"}, problem: "unknown flag --titel"},
		{args: []string{"---all"}, problem: "unknown flag ---all"},
		{args: []string{"--nope", "--", "\xff"}, words: []string{"\xff"}, problem: "unknown flag --nope"},
		{args: []string{"--", "\xff"}, words: []string{"\xff"}, problem: "an argument is not valid UTF-8"},
		{args: []string{"--title", "a\x00"}, flags: []given{{"title", "a\x00"}}, problem: "an argument contains a NUL character"},
	} {
		l := takeApart(c.args, arity)
		var problem string
		if l.problem != nil {
			problem = l.problem.Detail("problem").(string)
		}
		if !reflect.DeepEqual(l.words, c.words) || !reflect.DeepEqual(l.flags, c.flags) || problem != c.problem {
			t.Errorf("%q: words %q, flags %v, problem %q", c.args, l.words, l.flags, problem)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"spawn", "", 5}, {"spawn", "spwan", 1}, {"list", "lists", 1}, {"tree", "free", 1}, {"äb", "ab", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

// FuzzArgv runs arbitrary lines: none panics, each has exactly one answer
// with one meaning, and where JSON was asked for, that answer is JSON.
func FuzzArgv(f *testing.F) {
	for _, seed := range []string{
		"", "list", "spawn\n--intent\nx", "--json\nstatus\nthread-a", "--format\njson\nbogus", "--get\na.b\nversion",
		"list\n--status\nactive\n--limit=3", "artifact\nget\na\nb\n--\n--json", "--title\n--", "help\nspawn\n-h",
		"explain\nt101\n--json", "graph\n--as\ndot", "--root\n/nowhere\nlist\n--json", "\xff\n--json", "schema\nspawn",
	} {
		f.Add(seed)
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		if !harmless(args) {
			t.Skip()
		}
		var stdout, stderr bytes.Buffer
		status := (&process{
			args: args, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
			env: environment{"LESLIE_ROOT=" + root}, commands: table,
		}).run()
		l := takeApart(args, commands(table).arity())
		if _, picked := l.last("get"); picked {
			return
		}
		if l.format() == formatJSON {
			oneAnswer(t, args, status, stdout.Bytes())
		} else if stdout.Len() == 0 && stderr.Len() == 0 || status != 0 && !strings.Contains(stderr.String(), "error code=T") {
			t.Errorf("%q: status %d, %q and %q", args, status, stdout.String(), stderr.String())
		}
	})
}

// harmless keeps the fuzzer from writing where a line tells it to.
func harmless(args []string) bool {
	l := takeApart(args, commands(table).arity())
	cmd, _ := commands(table).match(l.words)
	root, named := l.last("root")
	_, out := l.last("out")
	_, file := l.last("file")
	return !named && !out && !file && root == "" && (cmd == nil || cmd.name != "init" && cmd.name != "logs")
}

func oneAnswer(t *testing.T, args []string, status int, stdout []byte) {
	var answer struct {
		Success *bool
		Error   *struct{ Code string }
	}
	if err := json.Unmarshal(stdout, &answer); err != nil {
		t.Fatalf("%q: %v: %q", args, err, stdout)
	}
	if answer.Success == nil || *answer.Success != (status == 0) || (answer.Error == nil) != *answer.Success {
		t.Errorf("%q: status %d and %s", args, status, stdout)
	}
	if answer.Error != nil && answer.Error.Code == "T901" {
		t.Errorf("%q is a bug: %s", args, stdout)
	}
}

func TestAnOwnFlagHidesTheGlobalOne(t *testing.T) {
	l := takeApart([]string{"graph", "--as", "dot", "--root", "/x"}, commands(table).arity())
	g := globalsOf(l, graphCommand, environment{"LESLIE_AS=ada", "LESLIE_ROOT=/y"})
	if g.as != "ada" || g.root != "/x" || g.rootFlag != "/x" {
		t.Errorf("%+v", g)
	}
	if g = globalsOf(l, listCommand, nil); g.as != "dot" {
		t.Errorf("%+v", g)
	}
}
