package crash

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// cuts gives every state that the calls may leave of a directory in which the
// file old holds "before": the content of each file by name, in one line.
func cuts(t *testing.T, calls ...Call) []string {
	t.Helper()
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "cut")
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	disk, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		c.Made = true
		disk.Apply(c)
	}
	var states []string
	for c := range disk.Cuts() {
		if err := c.Write(out); err != nil {
			t.Fatal(err)
		}
		if state := contents(t, out); !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	slices.Sort(states)
	return states
}

func contents(t *testing.T, dir string) (state string) {
	t.Helper()
	for _, pattern := range []string{"*", "*/*"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, path := range found {
			if info, _ := os.Stat(path); info.IsDir() {
				continue
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(dir, path)
			state += name + "=" + string(content) + ";"
		}
	}
	return state
}

func TestCuts(t *testing.T) {
	write := func(path, text string) Call { return Call{Kind: Write, Path: path, Data: []byte(text)} }
	create := func(path string) Call { return Call{Kind: Create, Path: path} }
	sync := func(path string) Call { return Call{Kind: Sync, Path: path} }
	move := Call{Kind: Rename, Path: "new", To: "old"}
	for name, c := range map[string]struct {
		calls []Call
		want  []string
	}{
		"nothing":            {nil, []string{"old=before;"}},
		"unsynced over old":  {[]Call{write("old", "AB")}, []string{"old=\x00\x00fore;", "old=ABfore;", "old=Aefore;", "old=before;"}},
		"synced over old":    {[]Call{write("old", "AB"), sync("old")}, []string{"old=ABfore;"}},
		"unsynced file":      {[]Call{create("new"), write("new", "AB")}, []string{"new=;old=before;", "new=A;old=before;", "new=AB;old=before;", "new=\x00\x00;old=before;", "old=before;"}},
		"file without name":  {[]Call{create("new"), write("new", "AB"), sync("new")}, []string{"new=AB;old=before;", "old=before;"}},
		"name without file":  {[]Call{create("new"), write("new", "A"), sync(".")}, []string{"new=;old=before;", "new=A;old=before;", "new=\x00;old=before;"}},
		"both":               {[]Call{create("new"), write("new", "AB"), sync("new"), sync(".")}, []string{"new=AB;old=before;"}},
		"rename":             {[]Call{create("new"), write("new", "AB"), sync("new"), move}, []string{"new=AB;old=before;", "old=AB;", "old=before;"}},
		"renamed for good":   {[]Call{create("new"), write("new", "AB"), sync("new"), move, sync(".")}, []string{"old=AB;"}},
		"into a new folder":  {[]Call{{Kind: Mkdir, Path: "d"}, {Kind: Rename, Path: "old", To: "d/x"}}, []string{"", "d/x=before;", "old=before;"}},
		"folder made safe":   {[]Call{{Kind: Mkdir, Path: "d"}, sync("."), {Kind: Rename, Path: "old", To: "d/x"}}, []string{"d/x=before;", "old=before;"}},
		"second name":        {[]Call{{Kind: Link, Path: "old", To: "b"}, write("old", "XXXXXX"), sync("old")}, []string{"b=XXXXXX;old=XXXXXX;", "old=XXXXXX;"}},
		"removed":            {[]Call{{Kind: Remove, Path: "old"}}, []string{"", "old=before;"}},
		"removed for good":   {[]Call{{Kind: Remove, Path: "old"}, sync(".")}, []string{""}},
		"cut short":          {[]Call{{Kind: Truncate, Path: "old", At: 3}}, []string{"old=bef;", "old=before;"}},
		"writes out of turn": {[]Call{write("old", "AAAAAA"), {Kind: Write, Path: "old", Data: []byte("B"), At: 1}, write("old", "C")}, []string{"old=ABAAAA;", "old=CBAAAA;", "old=Cefore;", "old=\x00\x00\x00\x00\x00\x00;", "old=before;"}},
		"out of sight":       {[]Call{write("/tmp/x", "x"), write("../x", "x")}, []string{"old=before;"}},
	} {
		slices.Sort(c.want)
		if got := cuts(t, c.calls...); !slices.Equal(got, c.want) {
			t.Errorf("%s: a power cut leaves\n%q, want\n%q", name, got, c.want)
		}
	}
}

func TestCallsThatWereNotMadeChangeNothing(t *testing.T) {
	disk, err := Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	disk.Apply(Call{Kind: Create, Path: "x"})
	for c := range disk.Cuts() {
		if paths := c.paths(); len(paths) > 0 {
			t.Errorf("a cut has %v", paths)
		}
	}
}

// TestManyUnsafeNames holds that the cuts stay few where the subsets would be many.
func TestManyUnsafeNames(t *testing.T) {
	disk, err := Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const names = 30
	for i := range names {
		disk.Apply(Call{Made: true, Kind: Create, Path: string(rune('a' + i))})
	}
	sums := map[any]bool{}
	for c := range disk.Cuts() {
		sums[c.Sum()] = true
	}
	if want := 3 * names; len(sums) != want-1 {
		t.Errorf("%d cuts of %d names, want %d", len(sums), names, want-1)
	}
}
