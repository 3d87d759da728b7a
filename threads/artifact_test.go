package threads

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

func TestPutReadListRemove(t *testing.T) {
	r := newRoom(t)
	made := r.spawn(Spawn{ID: "x"}).Thread
	for i, content := range []string{"", "text\n", "\x00\xff binary", strings.Repeat("long", 50_000)} {
		a, thread, err := r.put("x", "dir/file", content)
		if err != nil || a.Bytes != int64(len(content)) || a.SHA256 != objects.Hash([]byte(content)) || thread.Revision != made.Revision+int64(i+1) || !thread.UpdatedAt.After(made.UpdatedAt) {
			t.Fatalf("%+v, %+v, %v", a, thread, err)
		}
		if back, err := r.read("x", "dir/file"); err != nil || back != content {
			t.Errorf("read %d bytes, %v", len(back), err)
		}
	}
	r.put("x", "a", "1")
	var list []Artifact
	r.view(func(v *storage.View) (err error) { list, _, err = Artifacts(v, "x"); return err })
	if len(list) != 2 || list[0] != (Artifact{Path: "a", Bytes: 1, SHA256: objects.Hash([]byte("1"))}) || list[1].Path != "dir/file" {
		t.Errorf("%+v", list)
	}
	if a, err := r.remove("x", "a"); err != nil || a.SHA256 != list[0].SHA256 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := os.Lstat(r.file("x", "a")); err == nil {
		t.Error("it is still there")
	}
	_, err := r.remove("x", "a")
	wantCode(t, err, errcodes.ArtifactNotFound, "threadId", "x", "path", "a")
	_, err = r.read("x", "a")
	wantCode(t, err, errcodes.ArtifactNotFound)
	_, err = r.read("x", "a/b")
	wantCode(t, err, errcodes.ArtifactNotFound)
}

func TestWhatIsOverwrittenIsKept(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "x"})
	r.put("x", "a", "by command")
	r.plant("x", "a", "by hand")
	os.Chmod(r.file("x", "a"), 0o755)
	if _, _, err := r.put("x", "a", "new"); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Lstat(r.file("x", "a")); info.Mode().Perm() != 0o755 {
		t.Errorf("the file may no longer be executed: %v", info.Mode())
	}
	r.remove("x", "a")
	r.view(func(v *storage.View) error {
		for _, content := range []string{"by command", "by hand", "new"} {
			if back, err := objects.Read(v.Dir(), objects.Hash([]byte(content))); err != nil || string(back) != content {
				t.Errorf("%q is lost: %v", content, err)
			}
		}
		return nil
	})
}

func TestAnArchivedThreadKeepsItsArtifacts(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "x"})
	r.put("x", "a", "1")
	r.force("x", Archived)
	_, _, err := r.put("x", "a", "2")
	wantCode(t, err, errcodes.InvalidTransition, "action", "artifact put", "current", "archived")
	_, err = r.remove("x", "a")
	wantCode(t, err, errcodes.InvalidTransition, "action", "artifact remove")
	if content, err := r.read("x", "a"); content != "1" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
}

func TestArtifactsOfNoThread(t *testing.T) {
	r := newRoom(t)
	_, _, err := r.put("x", "a", "1")
	wantCode(t, err, errcodes.ThreadNotFound)
	_, err = r.read("x", "a")
	wantCode(t, err, errcodes.ThreadNotFound)
	_, _, err = r.put("../x", "a", "1")
	wantCode(t, err, errcodes.Usage)
}

func TestPathsNeverLeaveTheThread(t *testing.T) {
	r := newRoom(t)
	outside := t.TempDir()
	os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o644)
	r.spawn(Spawn{ID: "x"})
	r.spawn(Spawn{ID: "y"})
	r.put("y", "other", "o")
	r.put("x", "real/file", "inside")
	for name, target := range map[string]string{
		"out": outside, "secret": filepath.Join(outside, "secret"), "sibling": "../../y/artifacts", "in": "real", "alias": "real/file",
		"loop": "loop", "sly": "in/../../../y/artifacts/other", "dangling": "nowhere",
	} {
		if err := os.Symlink(target, r.file("x", name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"../../y/artifacts/other", "/etc/passwd", "out/secret", "secret", "sibling/other", "sly", "loop", "real", "", "a\x00"} {
		if content, err := r.read("x", path); err == nil || content != "" {
			t.Errorf("read %q gives %q", path, content)
		} else {
			wantCode(t, err, errcodes.Usage)
		}
	}
	for _, path := range []string{"in/file", "alias"} {
		if content, err := r.read("x", path); content != "inside" || err != nil {
			t.Errorf("read %q gives %q, %v", path, content, err)
		}
	}
	_, err := r.read("x", "dangling")
	wantCode(t, err, errcodes.ArtifactNotFound)
	for _, path := range []string{"out/new", "secret", "sibling/other", "in/new", "alias", "dangling", "loop", "real", "real/file/below", "../up", "a//b", "a/", strings.Repeat("x", 256)} {
		_, _, err := r.put("x", path, "evil")
		wantCode(t, err, errcodes.Usage)
	}
	if content, _ := os.ReadFile(filepath.Join(outside, "secret")); string(content) != "s" {
		t.Error("a file outside was written")
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Error("a file was made outside")
	}
	if content, _ := r.read("y", "other"); content != "o" {
		t.Error("a file of another thread was written")
	}
}

func TestALinkIsListedAndRemovedAsALink(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "x"})
	r.put("x", "real", "content")
	os.Symlink("real", r.file("x", "alias"))
	os.Symlink("/etc", r.file("x", "out"))
	syscall.Mkfifo(r.file("x", "pipe"), 0o644)
	r.view(func(v *storage.View) error {
		list, warnings, err := Artifacts(v, "x")
		if len(list) != 2 || list[0].Link != "real" || list[0].SHA256 != objects.Hash([]byte("real")) || list[1].Link != "" {
			t.Errorf("%+v", list)
		}
		if !slices.Equal(codes(warnings), []errcodes.Code{errcodes.ArtifactLeftOut, errcodes.ArtifactLeftOut}) {
			t.Errorf("%v", warnings)
		}
		return err
	})
	if _, err := r.remove("x", "alias"); err != nil {
		t.Error(err)
	}
	if content, err := r.read("x", "real"); content != "content" || err != nil {
		t.Errorf("what the link pointed at: %q, %v", content, err)
	}
}

func TestAPipeNeverBlocks(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "x"})
	if err := syscall.Mkfifo(r.file("x", "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := r.read("x", "pipe")
	wantCode(t, err, errcodes.Usage)
	_, _, err = r.put("x", "pipe", "x")
	wantCode(t, err, errcodes.Usage)
	_, err = r.remove("x", "pipe")
	wantCode(t, err, errcodes.Usage)
	r.spawn(Spawn{ID: "child", ParentID: "x"})
}

func TestTheThreadsOwnDirectoriesMustBeReal(t *testing.T) {
	r := newRoom(t)
	outside := t.TempDir()
	os.WriteFile(filepath.Join(outside, "f"), []byte("s"), 0o644)
	r.spawn(Spawn{ID: "x"})
	os.RemoveAll(r.file("x", ""))
	if _, err := r.read("x", "f"); err == nil {
		t.Error("a thread without a directory has a file")
	}
	if err := os.Symlink(outside, r.file("x", "")); err != nil {
		t.Fatal(err)
	}
	_, err := r.read("x", "f")
	wantCode(t, err, errcodes.WriteFailed)
	_, _, err = r.put("x", "f", "evil")
	wantCode(t, err, errcodes.WriteFailed)
	_, err = r.remove("x", "f")
	wantCode(t, err, errcodes.WriteFailed)
	_, _, err = r.trySpawn(Spawn{ParentID: "x"})
	wantCode(t, err, errcodes.WriteFailed)
	os.Remove(r.file("x", ""))
	if _, _, err := r.put("x", "f", "made again"); err != nil {
		t.Errorf("a missing directory is made: %v", err)
	}
}
