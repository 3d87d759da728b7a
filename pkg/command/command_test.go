package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOneResponseOnEveryPath(t *testing.T) {
	m := newMachine(t)
	id := m.spawn("--id", "thread-a")
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		code   string
		status int
		args   []string
	}{
		{"T903", 93, []string{"spwan"}},
		{"T903", 93, []string{"objective"}},
		{"T903", 93, []string{"objective", "destroy"}},
		{"T903", 93, []string{"spawn"}},
		{"T903", 93, []string{"spawn", "--intent"}},
		{"T903", 93, []string{"spawn", "--intent", "--title", "x"}},
		{"T903", 93, []string{"spawn", "--intent", "x", "--id", "a", "--count", "2"}},
		{"T903", 93, []string{"spawn", "--intent", "x", "--id", "../../evil"}},
		{"T903", 93, []string{"spawn", "--intent", "x", "--id", "__proto__"}},
		{"T903", 93, []string{"spawn", "--intent", "x\x00y"}},
		{"T903", 93, []string{"spawn", "--intent", "x\xff"}},
		{"T903", 93, []string{"spawn", "--intent", "x", "--title", "a\x1b[2J"}},
		{"T903", 93, []string{"list", "--limit", "-1"}},
		{"T903", 93, []string{"list", "--limit", "1000001"}},
		{"T903", 93, []string{"list", "--limit", "1e3"}},
		{"T903", 93, []string{"list", "--status", "aktive"}},
		{"T903", 93, []string{"list", "--intent", "x"}},
		{"T903", 93, []string{"list", "superfluous"}},
		{"T903", 93, []string{"list", "--all=perhaps"}},
		{"T903", 93, []string{"list", "--dry-run"}},
		{"T903", 93, []string{"status"}},
		{"T903", 93, []string{"status", long}},
		{"T903", 93, []string{"status", "a", "b"}},
		{"T903", 93, []string{long}},
		{"T903", 93, []string{"--" + long}},
		{"T903", 93, []string{"-x"}},
		{"T903", 93, []string{"explain", "T199"}},
		{"T903", 93, []string{"schema", "nothing"}},
		{"T903", 93, []string{"help", "nothing"}},
		{"T903", 93, []string{"completion", "tcsh"}},
		{"T903", 93, []string{"artifact", "put", id, "../../x"}},
		{"T903", 93, []string{"artifact", "put", id}},
		{"T903", 93, []string{"artifact", "get", id, "/etc/passwd"}},
		{"T903", 93, []string{"list", "--retry-attempts", "11"}},
		{"T903", 93, []string{"spawn", "--intent", "x", "--as", "a\nb"}},
		{"T903", 93, []string{"lifecycle", id, "--action", "explode"}},
		{"T903", 93, []string{"merge", "--sources", "a"}},
		{"T101", 11, []string{"status", "thread-nobody"}},
		{"T102", 12, []string{"resume", id}},
		{"T103", 13, []string{"spawn", "--intent", "x", "--id", id}},
		{"T110", 10, []string{"artifact", "get", id, "nothing.md"}},
		{"T203", 23, []string{"reference", "remove", "ref-none"}},
		{"T506", 56, []string{"artifact", "put", id, "a.md", "--file", "/no/such/file"}},
		{"T508", 58, []string{"log", "--since", "op-none"}},
		{"T601", 61, []string{"objective", "status", "obj-none"}},
		{"T602", 62, []string{"objective", "complete", "obj-default"}},
	} {
		details := m.fails(c.code, c.status, c.args...)
		for _, key := range []string{"hint", "retryable", "effect", "operation"} {
			if _, there := details[key]; !there {
				t.Errorf("leslie %.80q: details have no %s", c.args, key)
			}
		}
	}
	if found := m.ok("list", "--all")["count"]; found != 1.0 {
		t.Errorf("the refused commands left %v threads", found)
	}
}

func TestUnknownWordsNameTheNearest(t *testing.T) {
	m := newMachine(t)
	for _, c := range []struct{ near, argument string }{
		{"spawn", "spwan"}, {"--status", "--staus"}, {"--format", "--fromat"}, {"reference", "refrence"},
	} {
		details := m.fails("T903", 93, "list", c.argument)
		if c.near[0] != '-' {
			details = m.fails("T903", 93, c.argument)
		}
		if details["nearest"] != c.near {
			t.Errorf("%s: nearest is %v, want %s", c.argument, details["nearest"], c.near)
		}
	}
	if near, there := m.fails("T903", 93, "frobnicate")["nearest"]; there {
		t.Errorf("frobnicate is near %v", near)
	}
}

func TestErrorsChooseTheFormat(t *testing.T) {
	m := newMachine(t)
	for _, c := range []struct {
		env  string
		args []string
		json bool
	}{
		{"", []string{"bogus"}, false},
		{"", []string{"bogus", "--format", "json"}, true},
		{"", []string{"--format", "json", "bogus", "--format", "xml"}, true},
		{"", []string{"bogus", "--format"}, false},
		{"", []string{"--unknown", "--json", "list"}, true},
		{"json", []string{"bogus"}, true},
		{"json", []string{"bogus", "--format", "logfmt"}, false},
		{"xml", []string{"list"}, false},
	} {
		m.env = environment{"LESLIE_FORMAT=" + c.env}
		r := m.run(c.args...)
		if r.status != 93 {
			t.Errorf("%q: status %d", c.args, r.status)
		}
		switch {
		case c.json:
			r.response()
		case r.stdout != "" || !strings.HasPrefix(r.stderr, "error code=T903 ") || strings.Count(r.stderr, "\n") != 1:
			t.Errorf("%q: %q and %q", c.args, r.stdout, r.stderr)
		}
	}
}

func TestGetPrintsOneValue(t *testing.T) {
	m := newMachine(t)
	m.spawn("--id", "thread-a")
	for _, c := range []struct {
		stdout string
		args   []string
	}{
		{"active\n", []string{"status", "thread-a", "--get", "thread.status"}},
		{"active\n", []string{"--get=thread.status", "status", "--json", "thread-a"}},
		{"T101\n", []string{"status", "thread-b", "--get", "error.code"}},
		{"", []string{"status", "thread-b", "--get", "thread.status"}},
		{"T903\n", []string{"--get", "error.code", "statsu", "thread-b"}},
	} {
		if r := m.run(c.args...); r.stdout != c.stdout {
			t.Errorf("leslie %q: %q, want %q", c.args, r.stdout, c.stdout)
		}
	}
}

func TestFlagsStandAnywhere(t *testing.T) {
	m := newMachine(t)
	m.spawn("--id", "thread-a", "--tag", "x")
	want := m.run("status", "thread-a", "--format", "json").stdout
	for _, args := range [][]string{
		{"--format", "json", "status", "thread-a"},
		{"status", "--format=json", "thread-a"},
		{"--format", "logfmt", "status", "--json", "thread-a"},
		{"status", "--thread", "thread-a", "--json"},
		{"--json", "status", "--", "thread-a"},
		{"--debug=false", "status", "thread-a", "--json"},
	} {
		if got := m.run(args...).stdout; got != want {
			t.Errorf("leslie %q: %s want %s", args, got, want)
		}
	}
	if got := m.ok("spawn", "--intent", "42", "--intent", "-7", "--id", "thread-b"); got["threadId"] != "thread-b" {
		t.Error(got)
	}
	if intent := m.run("status", "thread-b", "--get", "thread.intent").stdout; intent != "-7\n" {
		t.Errorf("intent %q: the last one has to count, as text", intent)
	}
}

func TestEnvironment(t *testing.T) {
	m := newMachine(t)
	m.spawn("--id", "thread-a")
	for _, variable := range []string{
		"LESLIE_FORMAT=xml", "LESLIE_THREAD=../x", "LESLIE_TOKEN=none", "LESLIE_OPERATOR=god",
		"LESLIE_DEBUG=perhaps", "LESLIE_RETRY_ATTEMPTS=0", "LESLIE_OBJECTIVE=a/b",
	} {
		name, _, _ := strings.Cut(variable, "=")
		m.env = environment{variable}
		r := m.run("--get", "error.details.argument", "list")
		if r.status != 93 || r.stdout != name+"\n" {
			t.Errorf("%s: status %d, argument %q", variable, r.status, r.stdout)
		}
		m.env = environment{name + "="}
		m.ok("list")
	}
	m.env = environment{"LESLIE_THREAD=thread-a", "LESLIE_AS=ada", "LESLIE_OPERATOR=system"}
	if data := m.ok("status"); data["thread"].(map[string]any)["id"] != "thread-a" {
		t.Error(data)
	}
	if data := m.ok("spawn", "--intent", "x"); data["parentId"] != "thread-a" {
		t.Error("LESLIE_THREAD is not the default parent", data)
	}
	last := m.ok("log", "--limit", "1")["operations"].([]any)[0].(map[string]any)
	if last["actor"] != "ada" || last["operator"] != "system" {
		t.Error(last)
	}
	if data := m.ok("tree"); data["count"] != 2.0 {
		t.Error("LESLIE_THREAD filtered the tree", data)
	}
}

func TestNoStore(t *testing.T) {
	m := bare(t)
	m.fails("T504", 54, "list")
	m.fails("T504", 54, "list", "--root", filepath.Join(m.root, "nowhere"))
	for _, args := range [][]string{{"version"}, {"codes"}, {"explain", "t101"}, {"schema"}, {"completion", "bash"}, {"help"}, {}} {
		m.ok(args...)
	}
	if _, err := os.Lstat(filepath.Join(m.root, storeName)); !errors.Is(err, os.ErrNotExist) {
		t.Error("something made a store:", err)
	}
}

func TestRepairsNameTheStore(t *testing.T) {
	m := newMachine(t)
	next := m.fails("T101", 11, "status", "nobody", "--root", m.root)["next"].([]any)
	if want := "leslie list --all --root " + m.root; next[0] != want {
		t.Errorf("next is %v, want %s", next, want)
	}
}

func TestCorruptStore(t *testing.T) {
	m := newMachine(t)
	m.spawn("--id", "thread-a")
	store := filepath.Join(m.root, storeName)
	state := filepath.Join(store, "thread_relations.json")
	if err := os.WriteFile(state, []byte("garbage"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := m.run("status", "thread-a", "--json")
	if warnings := r.response()["warnings"].([]any); r.status != 0 || len(warnings) != 1 {
		t.Fatalf("status %d: %s", r.status, r.stdout)
	}
	ops, err := filepath.Glob(filepath.Join(store, "ops", "*"))
	if err != nil || len(ops) == 0 {
		t.Fatal(ops, err)
	}
	for _, path := range append(ops, state, state+".bak") {
		if err := os.WriteFile(path, []byte("garbage"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m.fails("T502", 52, "status", "thread-a")
	m.fails("T502", 52, "spawn", "--intent", "x")
	if m.ok("doctor")["healthy"] != false {
		t.Error("doctor calls garbage healthy")
	}
}
