package threads

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

func TestNewFillsInWhatWasNotSaid(t *testing.T) {
	r := newRoom(t)
	spawned := r.spawn(Spawn{Intent: "  42\tis it\nand more", Actor: "ann"})
	thread := r.find(spawned.Thread.ID)
	if thread.Title != "42 is it" || thread.Intent != "  42\tis it\nand more" || thread.Kind != "work" || thread.Executor != "agent" ||
		thread.Status != Active || thread.Inherit != "none" || thread.ObjectiveID != "obj-default" || thread.Base != "" ||
		thread.CreatedBy != "ann" || thread.Revision != 1 || thread.Tags == nil || thread.Scopes == nil || !thread.CreatedAt.Equal(thread.UpdatedAt) {
		t.Errorf("%+v", thread)
	}
	if !strings.HasPrefix(thread.ID, "thread-") || CheckID(thread.ID) != nil {
		t.Errorf("the id is %q", thread.ID)
	}
	if spawned.Inherited == nil || len(spawned.Inherited) != 0 {
		t.Errorf("inherited is %#v", spawned.Inherited)
	}
	if info, err := os.Lstat(r.file(thread.ID, "")); err != nil || !info.IsDir() {
		t.Errorf("it has no directory: %v", err)
	}
	r.view(func(v *storage.View) error {
		o, err := FindObjective(v, "obj-default")
		if o.Title != "Default objective" || o.Status != ObjectiveActive {
			t.Errorf("%+v", o)
		}
		return err
	})
	long := r.spawn(Spawn{Intent: strings.Repeat("ä", 200)})
	if got := []rune(long.Thread.Title); len(got) != 80 || got[79] != '…' {
		t.Errorf("the title is %q", long.Thread.Title)
	}
}

func TestNewRefusesBadRequests(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "p"})
	for name, s := range map[string]Spawn{
		"bad id": {ID: "../../evil"}, "blank intent": {Intent: " \n\t"}, "bidi": {Intent: "a\u202eb"}, "nul": {Intent: "a\x00"}, "carriage return": {Intent: "a\r\nb"},
		"utf-8": {Intent: "\xff\xfe"}, "huge": {Intent: strings.Repeat("x", 64<<10+1)}, "title newline": {Title: "a\nb"}, "title tab": {Title: "a\tb"},
		"title long": {Title: strings.Repeat("x", 501)}, "title escape": {Title: "\x1b[31m"}, "kind": {Kind: "song"}, "executor": {Executor: "cat"},
		"inherit": {ParentID: "p", Inherit: "some"}, "no parent": {Inherit: "full"}, "no parent, partial": {Inherit: "partial", Scopes: []string{"a"}},
		"no scope": {ParentID: "p", Inherit: "partial"}, "scope": {ParentID: "p", Scopes: []string{"a"}}, "scope leaves": {ParentID: "p", Inherit: "partial", Scopes: []string{"../x"}},
		"tag": {Tags: []string{"a b"}}, "empty tag": {Tags: []string{""}}, "long tag": {Tags: []string{strings.Repeat("x", 65)}}, "quote": {Tags: []string{`a"b`}},
		"many tags": {Tags: func() (tags []string) {
			for c := range 51 {
				tags = append(tags, strings.Repeat("t", c+1))
			}
			return tags
		}()},
		"bad parent": {ParentID: "a/b"}, "bad objective": {ObjectiveID: "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := r.trySpawn(s)
			wantCode(t, err, errcodes.Usage)
		})
	}
	r.view(func(v *storage.View) error {
		page, err := List(v, Filter{All: true})
		if len(page.Threads) != 1 {
			t.Errorf("a refused spawn left a thread: %v", page)
		}
		return err
	})
}

func TestNewFailsWithItsCodes(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "thread-a"})
	r.spawn(Spawn{ID: "old"})
	r.force("old", Archived)
	_, _, err := r.trySpawn(Spawn{ID: "thread-a"})
	wantCode(t, err, errcodes.ThreadExists, "threadId", "thread-a")
	_, _, err = r.trySpawn(Spawn{ParentID: "thread-b"})
	wantCode(t, err, errcodes.ThreadNotFound, "threadId", "thread-b", "nearest", []string{"thread-a"})
	_, _, err = r.trySpawn(Spawn{ParentID: "old"})
	wantCode(t, err, errcodes.InvalidTransition, "current", "archived", "action", "spawn", "allowed", []string{})
	_, _, err = r.trySpawn(Spawn{ObjectiveID: "obj-no"})
	wantCode(t, err, errcodes.ObjectiveNotFound, "objectiveId", "obj-no")
	_, _, err = r.trySpawn(Spawn{DefaultObjective: "obj-no"})
	wantCode(t, err, errcodes.ObjectiveNotFound)
}

func TestNewChoosesTheObjective(t *testing.T) {
	r := newRoom(t)
	for _, id := range []string{"given", "parents", "callers", "over"} {
		if _, err := r.update(func(tx *storage.Tx) error { _, err := CreateObjective(tx, id, id); return err }); err != nil {
			t.Fatal(err)
		}
	}
	r.spawn(Spawn{ID: "p", ObjectiveID: "parents"})
	for want, s := range map[string]Spawn{
		"given":       {ObjectiveID: "given", ParentID: "p", DefaultObjective: "callers"},
		"parents":     {ParentID: "p", DefaultObjective: "callers"},
		"callers":     {DefaultObjective: "callers"},
		"obj-default": {},
	} {
		if got := r.spawn(s).Thread.ObjectiveID; got != want {
			t.Errorf("%+v is of %s, want %s", s, got, want)
		}
	}
	if _, err := r.update(func(tx *storage.Tx) error { _, err := CompleteObjective(tx, "over"); return err }); err != nil {
		t.Fatal(err)
	}
	_, _, err := r.trySpawn(Spawn{ObjectiveID: "over"})
	wantCode(t, err, errcodes.ObjectiveCompleted, "objectiveId", "over")
}

func TestNewInherits(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "p"})
	for _, path := range []string{"src/a.go", "src/deep/b.go", "docs/c.md", "d.md"} {
		if _, _, err := r.put("p", path, "of "+path); err != nil {
			t.Fatal(err)
		}
	}
	r.plant("p", "run.sh", "#!")
	os.Chmod(r.file("p", "run.sh"), 0o755)
	os.Symlink("d.md", r.file("p", "link"))
	full := r.spawn(Spawn{ID: "full", ParentID: "p"})
	if want := []string{"d.md", "docs/c.md", "link", "run.sh", "src/a.go", "src/deep/b.go"}; !slices.Equal(full.Inherited, want) || full.Thread.Inherit != "full" {
		t.Errorf("inherited %v, want %v", full.Inherited, want)
	}
	part := r.spawn(Spawn{ID: "part", ParentID: "p", Inherit: "partial", Scopes: []string{"src", "*.md"}})
	if want := []string{"d.md", "src/a.go", "src/deep/b.go"}; !slices.Equal(part.Inherited, want) {
		t.Errorf("inherited %v, want %v", part.Inherited, want)
	}
	none := r.spawn(Spawn{ID: "none", ParentID: "p", Inherit: "none"})
	if len(none.Inherited) != 0 || none.Thread.Base != "" || full.Thread.Base == "" || part.Thread.Base == full.Thread.Base {
		t.Errorf("bases %q %q %q", none.Thread.Base, part.Thread.Base, full.Thread.Base)
	}
	if content, err := r.read("full", "link"); err != nil || content != "of d.md" {
		t.Errorf("%q, %v", content, err)
	}
	if info, _ := os.Lstat(r.file("full", "run.sh")); info.Mode().Perm() != 0o755 {
		t.Errorf("the program has mode %v", info.Mode())
	}
	r.put("p", "d.md", "changed")
	if content, _ := r.read("part", "d.md"); content != "of d.md" {
		t.Errorf("the child changed with its parent: %q", content)
	}
	r.view(func(v *storage.View) error {
		children, err := Children(v, "p")
		if !slices.Equal(children, []string{"full", "none", "part"}) {
			t.Errorf("children %v", children)
		}
		return err
	})
}

func TestNewWarnsOfASharedScope(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "p"})
	partial := func(id string, scopes ...string) Spawn {
		return Spawn{ID: id, ParentID: "p", Inherit: "partial", Scopes: scopes}
	}
	r.spawn(partial("a", "src"))
	r.spawn(partial("gone", "src"))
	r.force("gone", Completed)
	_, warnings, err := r.trySpawn(partial("b", "docs", "src/x"))
	if err != nil || len(warnings) != 1 || warnings[0].Code != errcodes.ScopeShared || warnings[0].Context[1].Value != "a" {
		t.Errorf("%v, %v", warnings, err)
	}
	if _, warnings, _ = r.trySpawn(partial("c", "test")); len(warnings) != 0 {
		t.Errorf("no scope is shared: %v", warnings)
	}
	if _, warnings, _ = r.trySpawn(Spawn{ID: "d", ParentID: "p"}); len(warnings) != 0 {
		t.Errorf("no scope was given: %v", warnings)
	}
}

func TestNewInADirectoryThatWasLeft(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "p"})
	r.plant("again", "a", "left by a thread that the store has lost")
	_, _, err := r.trySpawn(Spawn{ID: "again", ParentID: "p"})
	wantCode(t, err, errcodes.ThreadExists)
	if err := os.RemoveAll(filepath.Join(r.path, "threads", "again")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.path, "threads", "empty", "artifacts"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.spawn(Spawn{ID: "empty"})
	if err := os.Symlink(t.TempDir(), filepath.Join(r.path, "threads", "trap")); err != nil {
		t.Fatal(err)
	}
	_, _, err = r.trySpawn(Spawn{ID: "trap"})
	wantCode(t, err, errcodes.WriteFailed)
	if err := os.Remove(filepath.Join(r.path, "threads", "trap")); err != nil {
		t.Fatal(err)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "p"})
	r.plant("p", "a", "1")
	dry, err := storage.Open(r.path, storage.Options{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	defer dry.Close()
	files := func() (list []string) {
		filepath.WalkDir(r.path, func(path string, _ os.DirEntry, _ error) error { list = append(list, path); return nil })
		return list
	}
	before := files()
	_, _, err = dry.Update(t.Context(), storage.Operation{Name: "test"}, func(tx *storage.Tx) error {
		spawned, err := New(tx, Spawn{ParentID: "p", Intent: "x"})
		if !slices.Equal(spawned.Inherited, []string{"a"}) {
			t.Errorf("the verdict is %v", spawned)
		}
		if err == nil {
			_, _, err = PutArtifact(tx, "p", "a", []byte("2"))
		}
		return err
	})
	if after := files(); err != nil || !slices.Equal(before, after) {
		t.Errorf("%v; before %v, after %v", err, before, after)
	}
}
