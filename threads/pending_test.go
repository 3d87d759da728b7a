package threads

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

// stuck makes a change while some calls fail, as when the process dies after its commit.
func (r *room) stuck(fails func(c *storage.Change) bool, change func(tx *storage.Tx) error) {
	r.t.Helper()
	store, err := storage.Open(r.path, storage.Options{Intercept: func(c *storage.Change, do func() error) error {
		if fails(c) {
			return syscall.EIO
		}
		return do()
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	defer store.Close()
	commit, warnings, err := store.Update(context.Background(), storage.Operation{Name: "test"}, change)
	if err != nil || commit.OperationID == "" || !slices.Equal(codes(warnings), []errcodes.Code{"W503"}) {
		r.t.Fatalf("%+v, %v, %v", commit, warnings, err)
	}
}

// unpublished makes a change whose files do not get to their places.
func (r *room) unpublished(change func(tx *storage.Tx) error) {
	r.t.Helper()
	r.stuck(func(c *storage.Change) bool {
		return strings.HasPrefix(c.To, "threads/") || c.Call == "remove" && strings.HasPrefix(c.Path, "threads/")
	}, change)
}

func (r *room) unpublishedPut(path, content string) {
	r.t.Helper()
	r.unpublished(func(tx *storage.Tx) error { _, _, err := PutArtifact(tx, "x", path, []byte(content)); return err })
}

// shows checks what readers see of x: each path, and its content.
func (r *room) shows(want map[string]string) {
	r.t.Helper()
	var list []Artifact
	r.view(func(v *storage.View) (err error) { list, _, err = Artifacts(v, "x"); return err })
	if len(list) != len(want) || !slices.IsSortedFunc(list, func(a, b Artifact) int { return strings.Compare(a.Path, b.Path) }) {
		r.t.Errorf("listed: %+v", list)
	}
	for _, a := range list {
		content, err := r.read("x", a.Path)
		if err != nil || content != want[a.Path] || a.Bytes != int64(len(content)) {
			r.t.Errorf("%s: %q, %v; listed as %+v", a.Path, content, err, a)
		}
	}
}

// TestCommittedIsSeen holds that readers see the files of an operation that is
// committed and that nobody has put in place yet, and the next writer does.
func TestCommittedIsSeen(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "x"})
	r.unpublishedPut("new/file", "first")
	if _, err := os.Lstat(r.file("x", "new/file")); err == nil {
		t.Fatal("it is in place")
	}
	r.shows(map[string]string{"new/file": "first"})
	r.put("x", "a", "1")
	r.shows(map[string]string{"new/file": "first", "a": "1"})
	r.unpublishedPut("a", "2")
	r.shows(map[string]string{"new/file": "first", "a": "2"})
	r.spawn(Spawn{ID: "y"})
	r.unpublished(func(tx *storage.Tx) error { _, _, err := RemoveArtifact(tx, "x", "a"); return err })
	r.shows(map[string]string{"new/file": "first"})
	_, err := r.read("x", "a")
	wantCode(t, err, errcodes.ArtifactNotFound)
	if on, err := os.ReadFile(r.file("x", "a")); err != nil || string(on) != "2" {
		t.Errorf("%q, %v", on, err)
	}
	r.spawn(Spawn{ID: "z"})
	if _, err := os.Lstat(r.file("x", "a")); err == nil {
		t.Error("the next writer has not removed it")
	}
	r.shows(map[string]string{"new/file": "first"})
}

// TestEditsAreNewerThanPending holds that what an agent has written itself
// is what readers see, as it is what stays.
func TestEditsAreNewerThanPending(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "x"})
	r.put("x", "a", "1")
	r.unpublishedPut("a", "2")
	r.plant("x", "a", "by hand")
	r.shows(map[string]string{"a": "by hand"})
	r.spawn(Spawn{ID: "y"})
	r.shows(map[string]string{"a": "by hand"})
}

// TestPublishedIsNotPending holds that a file which was in its place is not
// shown again after an agent has removed it, although the process died before
// it could forget what it had staged.
func TestPublishedIsNotPending(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "x"})
	placed := false
	r.stuck(func(c *storage.Change) bool {
		forgets := placed && c.Call == "remove" && strings.HasPrefix(c.Path, storage.StagingDir+"/")
		placed = placed || strings.HasPrefix(c.To, "threads/")
		return forgets
	}, func(tx *storage.Tx) error { _, _, err := PutArtifact(tx, "x", "a", []byte("1")); return err })
	r.shows(map[string]string{"a": "1"})
	if err := os.Remove(r.file("x", "a")); err != nil {
		t.Fatal(err)
	}
	r.shows(map[string]string{})
}
