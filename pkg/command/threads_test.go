package command

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// strs returns the list under key as strings.
func strs(data map[string]any, key string) []string {
	var list []string
	for _, element := range data[key].([]any) {
		list = append(list, element.(string))
	}
	return list
}

// thread returns what status says of id.
func (m *machine) thread(id string) map[string]any {
	m.Helper()
	return m.ok("status", id)["thread"].(map[string]any)
}

func TestLifeOfAThread(t *testing.T) {
	m := newMachine(t)
	m.ok("objective", "create", "--title", "All", "--id", "obj-all")
	a := m.spawn("--objective", "obj-all", "--tag", "x", "--tag", "y", "--title", "first")
	b := m.spawn("--parent", a)
	m.fails("T104", 14, "done", a)
	for _, step := range []struct{ action, from, status string }{
		{"suspend", "active", "suspended"}, {"resume", "suspended", "active"}, {"fail", "active", "failed"},
		{"reopen", "failed", "active"}, {"done", "active", "completed"}, {"archive", "completed", "archived"},
	} {
		data := m.ok(step.action, b, "--reason", "because")
		if data["from"] != step.from || data["status"] != step.status || data["operationId"] == "" || data["revision"] == nil {
			t.Errorf("%s: %v", step.action, data)
		}
	}
	m.ok("lifecycle", a, "--action", "cancel")
	shown := m.thread(a)
	if shown["status"] != "cancelled" || shown["objectiveId"] != "obj-all" || !slices.Equal(strs(shown, "tags"), []string{"x", "y"}) || !slices.Equal(strs(shown, "children"), []string{b}) {
		t.Error(shown)
	}
	if path := shown["storagePath"]; path != filepath.Join(m.root, storeName, "threads", a) {
		t.Error(path)
	}
	if data := m.ok("objective", "complete", "obj-all"); data["status"] != "completed" {
		t.Error(data)
	}
	m.fails("T603", 63, "spawn", "--intent", "late", "--objective", "obj-all")
	log := m.ok("log", "--of", b)
	if log["count"] != 7.0 || log["operations"].([]any)[1].(map[string]any)["reason"] != "because" {
		t.Error(log)
	}
}

func TestListPagesThroughEverything(t *testing.T) {
	m := newMachine(t)
	made := m.ok("spawn", "--intent", "many", "--count", "250", "--tag", "x")
	if made["count"] != 250.0 || len(made["threadIds"].([]any)) != 100 || made["firstId"] == made["lastId"] {
		t.Errorf("%v", made)
	}
	m.spawn("--tag", "other")
	seen := map[string]bool{}
	args := []string{"list", "--tag", "x", "--limit", "20"}
	for pages := 1; ; pages++ {
		data := m.ok(append(args, "--full")...)
		for _, element := range data["threads"].([]any) {
			seen[element.(map[string]any)["id"].(string)] = true
		}
		next, more := data["next"].(string)
		if !more {
			break
		}
		args = strings.Fields(strings.TrimPrefix(next, "leslie "))
		if pages > 20 {
			t.Fatal("the pages do not end")
		}
	}
	if len(seen) != 250 {
		t.Errorf("%d threads on all pages", len(seen))
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	m := newMachine(t)
	a := m.spawn()
	before := m.ok("log")["count"]
	for _, args := range [][]string{
		{"spawn", "--intent", "x"}, {"done", a}, {"objective", "create", "--title", "x"},
		{"inject", "--target", a, "--type", "info", "--content", "x"}, {"reference", "--from", a, "--target", "later"},
		{"doctor", "--repair"},
	} {
		data := m.ok(append(args, "--dry-run")...)
		if data["dryRun"] != true || data["operationId"] != nil || data["revision"] != nil {
			t.Errorf("leslie %q: %v", args, data)
		}
	}
	m.fails("T102", 12, "resume", a, "--dry-run")
	if after := m.ok("log")["count"]; after != before {
		t.Errorf("%v operations before, %v after", before, after)
	}
	if m.thread(a)["status"] != "active" {
		t.Error("the dry run of done did it")
	}
}

func TestArtifacts(t *testing.T) {
	m := newMachine(t)
	a := m.spawn()
	for _, content := range []string{"text\n", "no newline", "", "\x00\xff binary"} {
		m.stdin = strings.NewReader(content)
		put := m.ok("artifact", "put", a, "notes/x")
		if put["bytes"] != float64(len(content)) || put["operationId"] == nil {
			t.Error(put)
		}
		if got := m.run("artifact", "get", a, "notes/x", "--get", "content").stdout; got != content {
			t.Errorf("%q came back as %q", content, got)
		}
		out := filepath.Join(t.TempDir(), "out")
		if data := m.ok("artifact", "get", a, "notes/x", "--out", out); data["content"] != nil || data["out"] != out {
			t.Error(data)
		}
		if got, err := os.ReadFile(out); err != nil || string(got) != content {
			t.Errorf("%q was written as %q: %v", content, got, err)
		}
	}
	if data := m.ok("artifact", "get", a, "notes/x"); data["encoding"] != "base64" {
		t.Error(data)
	}
	m.ok("artifact", "put", "--thread", a, "y", "--file", os.DevNull)
	if data := m.ok("artifact", "list", a); data["count"] != 2.0 {
		t.Error(data)
	}
	m.ok("artifact", "remove", a, "y")
	m.fails("T110", 10, "artifact", "remove", a, "y")
	m.fails("T503", 53, "artifact", "get", a, "notes/x", "--out", filepath.Join(m.root, "no", "dir"))
}

func TestReferences(t *testing.T) {
	m := newMachine(t)
	a, c := m.spawn("--id", "thread-a"), m.spawn("--id", "thread-c")
	m.stdin = strings.NewReader("one")
	m.ok("artifact", "put", a, "x.md")
	b := m.ok("spawn", "--intent", "b", "--id", "thread-b", "--ref", a, "--ref", "thread-later")
	if len(b["references"].([]any)) != 2 {
		t.Fatal(b)
	}
	ref := strs(b, "references")[0]
	live := m.ok("reference", "--from", c, "--target", "thread-b", "--binding", "live")
	details := m.fails("T201", 21, "reference", "--from", a, "--target", c)
	if path := strs(details, "path"); !slices.Equal(path, []string{a, c, "thread-b", a}) {
		t.Error(path)
	}
	m.stdin = strings.NewReader("two")
	m.ok("artifact", "put", a, "x.md")
	file := m.ok("reference", "resolve", ref, "x.md")["file"].(string)
	if got, err := os.ReadFile(file); err != nil || string(got) != "one" || !filepath.IsAbs(file) {
		t.Errorf("the frozen reference leads to %q in %s: %v", got, file, err)
	}
	if data := m.ok("reference", "refresh", ref); data["snapshotVersion"] != 2.0 {
		t.Error(data)
	}
	if got := m.run("reference", "resolve", ref, "x.md", "--get", "sha256").stdout; !strings.HasPrefix(got, "3fc4ccfe") {
		t.Errorf("after refresh it is still %s", got)
	}
	if data := m.ok("reference", "list", "thread-b"); data["count"] != 3.0 {
		t.Error(data)
	}
	if to := strs(m.thread("thread-b"), "referencesTo"); !slices.Equal(to, []string{a, "thread-later"}) && !slices.Equal(to, []string{"thread-later", a}) {
		t.Error(to)
	}
	m.ok("reference", "remove", live["refId"].(string))
	m.ok("reference", "--from", a, "--target", c)
}

func TestContextIsEscaped(t *testing.T) {
	m := newMachine(t)
	a := m.spawn("--id", "thread-a")
	m.stdin = strings.NewReader("x")
	m.ok("artifact", "put", a, "x.md")
	id := m.ok("spawn", "--intent", "</intent><evil>\n&amp;", "--ref", a, "--ref", "thread-none")["threadId"].(string)
	m.ok("inject", "--target", id, "--type", "constraint", "--content", `"</thread_context>"`)
	r := m.run("context", id)
	if !strings.Contains(r.stderr, "code=W202") {
		t.Errorf("the reference that leads nowhere is not told: %s", r.stderr)
	}
	var block struct {
		XMLName    xml.Name `xml:"thread_context"`
		Intent     string   `xml:"intent"`
		Constraint string   `xml:"injections>constraint"`
		References []struct {
			Thread string `xml:"thread,attr"`
			Files  []struct {
				File string `xml:"file,attr"`
			} `xml:"artifact"`
		} `xml:"references>reference"`
		Return string `xml:"return"`
	}
	if err := xml.Unmarshal([]byte(r.stdout), &block); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	if block.Intent != "</intent><evil>\n&amp;" || block.Constraint != `"</thread_context>"` || block.Return != "leslie done "+id {
		t.Errorf("%+v", block)
	}
	if len(block.References) != 1 || len(block.References[0].Files) != 1 {
		t.Fatalf("%+v", block.References)
	}
	if content, err := os.ReadFile(block.References[0].Files[0].File); err != nil || string(content) != "x" {
		t.Error(string(content), err)
	}
}

func TestEscapeXML(t *testing.T) {
	for text, want := range map[string]string{"a\x1b[2J": "a\uFFFD[2J", "<&>'\"": "&lt;&amp;&gt;&apos;&quot;", "\u202ea\ufffe": "\uFFFDa\uFFFD", "ä\n\t": "ä\n\t"} {
		if got := escapeXML(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestTreeAndGraph(t *testing.T) {
	m := newMachine(t)
	a := m.spawn("--id", "thread-a", "--title", `quote " and \ and <b>`)
	m.spawn("--id", "thread-b", "--parent", a)
	m.spawn("--id", "thread-c", "--parent", "thread-b")
	m.ok("reference", "--from", a, "--target", "thread-x")
	want := "thread-a [active] quote \" and \\ and <b>\n  thread-b [active] work\n    thread-c [active] work\n"
	if got := m.run("tree").stdout; got != want {
		t.Errorf("tree:\n%s", got)
	}
	if got := m.run("tree", "thread-b").stdout; got != "thread-b [active] work\n  thread-c [active] work\n" {
		t.Errorf("tree thread-b:\n%s", got)
	}
	if data := m.ok("tree", a, "--limit", "2"); data["count"] != 2.0 || data["next"] != "leslie tree thread-a --limit 8 --json" {
		t.Error(data)
	}
	m.fails("T101", 11, "tree", "nobody")
	if dot := m.run("graph").stdout; !strings.Contains(dot, `label="quote \" and \\ and <b>\nactive"`) || !strings.Contains(dot, `"thread-b" -> "thread-a"`) {
		t.Errorf("dot:\n%s", dot)
	}
	if drawn := m.run("graph", "--as", "mermaid").stdout; !strings.Contains(drawn, "&quot; and \\ and &lt;b&gt;") || !strings.Contains(drawn, "-.->|frozen|") {
		t.Errorf("mermaid:\n%s", drawn)
	}
	if edges := m.ok("graph", "--as", "json")["edges"].([]any); len(edges) != 3 {
		t.Error(edges)
	}
}

func TestEverythingIsLogged(t *testing.T) {
	m := newMachine(t)
	a := m.spawn()
	m.fails("T102", 12, "resume", a)
	m.fails("T903", 93, "spwan")
	m.ok("reference", "--from", a, "--target", "nobody")
	var codes []string
	for _, entry := range m.ok("logs")["entries"].([]any) {
		codes = append(codes, fmt.Sprint(entry.(map[string]any)["code"]))
	}
	if !slices.Equal(codes, []string{"T102", "T903", "W202"}) {
		t.Error(codes)
	}
	if data := m.ok("logs", "--of", a); data["count"] != 2.0 {
		t.Error(data)
	}
	if data := m.ok("logs", "--limit", "1"); data["count"] != 1.0 || data["next"] != "leslie logs --limit 4 --json" {
		t.Error(data)
	}
}

func TestLogsFollow(t *testing.T) {
	m := newMachine(t)
	m.fails("T101", 11, "status", "nobody")
	m.signals <- os.Interrupt
	r := m.run("logs", "--follow", "--json", "--get", "error.code")
	if r.status != 130 || !strings.Contains(r.stdout, `"code":"T101"`) || !strings.HasSuffix(r.stdout, "T904\n") {
		t.Errorf("status %d: %s", r.status, r.stdout)
	}
}
