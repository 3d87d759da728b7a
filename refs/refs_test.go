package refs

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

func TestAFrozenReferenceDoesNotDrift(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b")
	r.write("b", "src/x.go", "one")
	r.write("b", "readme.md", "doc")
	added := r.add("a", "b", "")
	ref := added.Reference
	if ref.Binding != Frozen || ref.SnapshotVersion != 1 || !ref.TargetResolved || ref.Revision != 1 || !slices.Equal(added.Copied, []string{"readme.md", "src/x.go"}) {
		t.Errorf("%+v", added)
	}
	r.write("b", "src/x.go", "two")
	os.Remove(r.file("b", "readme.md"))
	if content, err := r.resolved(ref.ID, "src/x.go"); content != "one" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
	list, err := r.files(ref)
	if err != nil || len(list) != 2 || list[0].Path != "readme.md" || list[1].File != "threads/a/context/"+ref.ID+"/1/src/x.go" {
		t.Errorf("%+v, %v", list, err)
	}
	if info, _ := os.Lstat(filepath.Join(r.path, list[1].File)); info.Mode() != 0o444 {
		t.Errorf("the copy has mode %v", info.Mode())
	}
}

func TestALiveReferenceShowsItsTarget(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b")
	ref := r.add("a", "b", Live).Reference
	if ref.SnapshotVersion != 0 || !ref.TargetResolved {
		t.Errorf("%+v", ref)
	}
	if list, err := r.files(ref); err != nil || list == nil || len(list) != 0 {
		t.Errorf("of nothing: %v, %v", list, err)
	}
	_, err := r.resolved(ref.ID, "x")
	wantCode(t, err, errcodes.ArtifactNotFound, "threadId", "b", "path", "x")
	for _, content := range []string{"one", "two"} {
		r.write("b", "x", content)
		if got, err := r.resolved(ref.ID, "x"); got != content || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if list, err := r.files(ref); err != nil || len(list) != 1 || list[0].File != "threads/b/artifacts/x" {
		t.Errorf("%v, %v", list, err)
	}
	if entries, _ := os.ReadDir(filepath.Join(r.path, "threads/a/context")); len(entries) > 0 {
		t.Error("something was copied")
	}
	_, _, err = r.refresh(ref.ID)
	wantCode(t, err, errcodes.Usage)
	_, err = r.update(func(tx *storage.Tx) error { return tx.Delete(threadKey("b")) })
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.resolved(ref.ID, "x")
	wantCode(t, err, errcodes.TargetCorrupted, "target", "b", "refId", ref.ID)
	r.view(func(v *storage.View) error {
		now, err := Find(v, ref.ID)
		if now.TargetResolved {
			t.Error("the target is said to exist")
		}
		_, err2 := Files(v, now)
		wantCode(t, err2, errcodes.TargetCorrupted)
		return err
	})
}

func TestRefreshMakesAnotherVersion(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b")
	r.write("b", "x", "one")
	ref := r.add("a", "b", Frozen).Reference
	r.write("b", "x", "two")
	r.write("b", "y", "new")
	added, warnings, err := r.refresh(ref.ID)
	if err != nil || len(warnings) > 0 || added.Reference.SnapshotVersion != 2 || added.Reference.Revision != 2 || !slices.Equal(added.Copied, []string{"x", "y"}) {
		t.Errorf("%+v, %v", added, err)
	}
	if content, err := r.resolved(ref.ID, "x"); content != "two" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
	old, err := os.ReadFile(filepath.Join(r.path, "threads/a/context", ref.ID, "1/x"))
	if string(old) != "one" {
		t.Errorf("the first version is %q, %v", old, err)
	}
	os.MkdirAll(filepath.Join(r.path, "threads/a/context", ref.ID, "3"), 0o755)
	if added, _, err := r.refresh(ref.ID); err != nil || added.Reference.SnapshotVersion != 4 {
		t.Errorf("a version that is taken is not passed over: %+v, %v", added, err)
	}
}

func TestAMissingTargetIsRecorded(t *testing.T) {
	r := newRoom(t)
	r.threads("a")
	added, warnings, err := r.tryAdd("a", "b", Frozen)
	ref := added.Reference
	if err != nil || ref.TargetResolved || ref.SnapshotVersion != 0 || added.Copied == nil {
		t.Fatalf("%+v, %v", added, err)
	}
	wantUnresolved := func(ws errcodes.Warnings) {
		t.Helper()
		if len(ws) != 1 || ws[0].Code != errcodes.TargetUnresolved || ws[0].Context[0].Value != "b" || ws[0].Context[1].Value != "thread not found" || ws[0].Context[2].Value != ref.ID {
			t.Errorf("%v", ws)
		}
	}
	wantUnresolved(warnings)
	_, err = r.resolved(ref.ID, "x")
	wantCode(t, err, errcodes.TargetCorrupted)
	_, err = r.files(ref)
	wantCode(t, err, errcodes.TargetCorrupted)
	added, warnings, err = r.refresh(ref.ID)
	if err != nil || added.Reference.Revision != 1 || added.Copied == nil {
		t.Errorf("%+v, %v", added, err)
	}
	wantUnresolved(warnings)
	r.threads("b")
	r.write("b", "x", "here")
	if added, _, err := r.refresh(ref.ID); err != nil || added.Reference.SnapshotVersion != 1 || !added.Reference.TargetResolved {
		t.Errorf("%+v, %v", added, err)
	}
	if content, err := r.resolved(ref.ID, "x"); content != "here" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
	live, warnings, err := r.tryAdd("a", "c", Live)
	if err != nil || live.Reference.TargetResolved || len(warnings) != 1 {
		t.Errorf("%+v, %v, %v", live, warnings, err)
	}
}

func TestATargetThatCannotBeReadIsUnresolved(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b")
	os.MkdirAll(filepath.Join(r.path, "threads/b"), 0o755)
	os.Symlink(t.TempDir(), r.file("b", ""))
	added, warnings, err := r.tryAdd("a", "b", Frozen)
	if err != nil || added.Reference.TargetResolved || len(warnings) != 1 || warnings[0].Code != errcodes.TargetUnresolved {
		t.Errorf("%+v, %v, %v", added, warnings, err)
	}
	live := r.add("a", "b", Live).Reference
	_, err = r.resolved(live.ID, "x")
	wantCode(t, err, errcodes.TargetCorrupted)
	_, err = r.files(live)
	wantCode(t, err, errcodes.TargetCorrupted)
}

func TestCopiesNeverGoThroughALink(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b")
	r.write("b", "x", "one")
	outside := t.TempDir()
	os.MkdirAll(filepath.Join(r.path, "threads/a"), 0o755)
	os.Symlink(outside, filepath.Join(r.path, "threads/a/context"))
	_, _, err := r.tryAdd("a", "b", Frozen)
	wantCode(t, err, errcodes.WriteFailed)
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Error("something was written outside")
	}
}

func TestChainsOfFrozenReferencesDoNotGrow(t *testing.T) {
	r := newRoom(t)
	chain := []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"}
	r.threads(chain...)
	for _, id := range chain {
		r.write(id, "own.md", "of "+id)
	}
	for i := len(chain) - 2; i >= 0; i-- {
		if added := r.add(chain[i], chain[i+1], Frozen); !slices.Equal(added.Copied, []string{"own.md"}) {
			t.Errorf("%s copied %v", chain[i], added.Copied)
		}
	}
}

func TestScopesOfAReference(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b")
	for _, path := range []string{"src/x.go", "docs/a.md", "top.md"} {
		r.write("b", path, path)
	}
	os.Symlink("docs/a.md", r.file("b", "way.md"))
	for _, binding := range Bindings() {
		ref := r.add("a", "b", binding, "src", "*.md").Reference
		for path, code := range map[string]errcodes.Code{
			"src/x.go": "", "top.md": "", "docs/a.md": errcodes.OutsideScope, "src/none": errcodes.ArtifactNotFound, "src": errcodes.ArtifactNotFound,
			"../x": errcodes.Usage, "/x": errcodes.Usage, "": errcodes.Usage,
		} {
			content, err := r.resolved(ref.ID, path)
			switch {
			case binding == Live && path == "src":
				wantCode(t, err, errcodes.Usage)
			case code != "":
				wantCode(t, err, code)
			case content != path || err != nil:
				t.Errorf("%s %s: %q, %v", binding, path, content, err)
			}
		}
		if _, err := r.resolved(ref.ID, "way.md"); err == nil {
			t.Errorf("%s: a link leads out of the scope", binding)
		}
		list, err := r.files(ref)
		if err != nil || len(list) != 3 {
			t.Errorf("%s: %v, %v", binding, list, err)
		}
	}
}

func TestLinksAreFollowedWithinASnapshot(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b")
	r.write("b", "real/x", "content")
	os.Symlink("real", r.file("b", "dir"))
	os.Symlink("dir/x", r.file("b", "file"))
	syscall.Mkfifo(r.file("b", "pipe"), 0o644)
	os.Symlink("/etc/hostname", r.file("b", "out"))
	added, warnings, err := r.tryAdd("a", "b", Frozen)
	if err != nil || !slices.Equal(added.Copied, []string{"dir", "file", "real/x"}) || len(warnings) != 2 || warnings[0].Code != errcodes.ArtifactLeftOut {
		t.Fatalf("%+v, %v, %v", added, warnings, err)
	}
	for _, path := range []string{"real/x", "dir/x", "file"} {
		if content, err := r.resolved(added.Reference.ID, path); content != "content" || err != nil {
			t.Errorf("%s: %q, %v", path, content, err)
		}
	}
}

func TestADamagedCopyIsT202AndMended(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b")
	r.write("b", "x", "one")
	r.write("b", "y", "two")
	ref := r.add("a", "b", Frozen).Reference
	copies := filepath.Join(r.path, "threads/a/context", ref.ID, "1")
	for name, harm := range map[string]func(at string){
		"changed": func(at string) { os.Chmod(at, 0o644); os.WriteFile(at, []byte("evil"), 0o644) },
		"removed": func(at string) { os.Remove(at) },
		"a link":  func(at string) { os.Remove(at); os.Symlink("y", at) },
		"gone":    func(at string) { os.RemoveAll(filepath.Dir(at)) },
	} {
		t.Run(name, func(t *testing.T) {
			harm(filepath.Join(copies, "x"))
			_, err := r.resolved(ref.ID, "x")
			wantCode(t, err, errcodes.TargetCorrupted, "target", "b", "refId", ref.ID)
			_, err = r.files(ref)
			wantCode(t, err, errcodes.TargetCorrupted)
			found := r.findings()
			if len(found) == 0 {
				t.Error("Check finds nothing")
			}
			if _, err := r.update(func(tx *storage.Tx) error {
				for _, f := range found {
					if err := f.Repair(tx); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if content, err := r.resolved(ref.ID, "x"); content != "one" || err != nil {
				t.Errorf("after the repair: %q, %v", content, err)
			}
		})
	}
}

func TestALostSnapshotIsT202(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b")
	r.write("b", "x", "one")
	ref := r.add("a", "b", Frozen).Reference
	manifest := filepath.Join(r.path, "objects", ref.Snapshot[:2], ref.Snapshot[2:])
	text, _ := os.ReadFile(manifest)
	os.Remove(manifest)
	_, err := r.resolved(ref.ID, "x")
	wantCode(t, err, errcodes.TargetCorrupted)
	if found := r.findings(); len(found) != 1 || found[0].Code != errcodes.TargetCorrupted {
		t.Errorf("%v", found)
	}
	os.WriteFile(manifest, text, 0o444)
}
