package objects

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

// newStore gives a test a real store; at its end every object must be whole.
func newStore(t *testing.T) (*storage.Store, *os.Root, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".leslie")
	if _, err := storage.Init(context.Background(), path, storage.Options{}); err != nil {
		t.Fatal(err)
	}
	store, err := storage.Open(path, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			for _, f := range findings(t, store) {
				t.Errorf("left behind: %s: %s", f.Subject, f.Message)
			}
		}
		root.Close()
		store.Close()
	})
	return store, root, path
}

func findings(t *testing.T, store *storage.Store) (all []storage.Finding) {
	t.Helper()
	_, err := store.View(context.Background(), func(v *storage.View) error {
		checks, err := Check(v)
		for _, check := range checks {
			all = append(all, check.Findings...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPutAndRead(t *testing.T) {
	_, root, path := newStore(t)
	for _, content := range [][]byte{nil, []byte("a"), {0, 0xff, '\n'}, bytes.Repeat([]byte("long "), 100_000)} {
		id, err := Put(&storage.Disk{Root: root}, content)
		if err != nil {
			t.Fatal(err)
		}
		if id != Hash(content) {
			t.Errorf("the id is %s, not the hash %s", id, Hash(content))
		}
		back, err := Read(root, id)
		if err != nil || !bytes.Equal(back, content) {
			t.Errorf("Read(%s) = %d bytes, %v", id, len(back), err)
		}
		info, err := os.Lstat(filepath.Join(path, Path(id)))
		if err != nil || info.Mode() != 0o444 {
			t.Errorf("the object is %v, %v; it should be a file of mode 0444", info.Mode(), err)
		}
	}
}

func TestPutLeavesTheObjectThatIsThere(t *testing.T) {
	_, root, path := newStore(t)
	id, _ := Put(&storage.Disk{Root: root}, []byte("once"))
	before, _ := os.Lstat(filepath.Join(path, Path(id)))
	if _, err := Put(&storage.Disk{Root: root}, []byte("once")); err != nil {
		t.Fatal(err)
	}
	after, _ := os.Lstat(filepath.Join(path, Path(id)))
	if !os.SameFile(before, after) {
		t.Error("the object was written again")
	}
}

func TestDamageIsFoundAndPutMendsIt(t *testing.T) {
	for name, harm := range map[string]func(string) error{
		"other bytes": func(at string) error { return os.WriteFile(at, []byte("evil"), 0o444) },
		"truncated":   func(at string) error { return os.WriteFile(at, nil, 0o444) },
		"a link":      func(at string) error { return os.Symlink("/etc/hostname", at) },
	} {
		t.Run(name, func(t *testing.T) {
			store, root, path := newStore(t)
			id, _ := Put(&storage.Disk{Root: root}, []byte("good"))
			at := filepath.Join(path, Path(id))
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
			if err := harm(at); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(root, id); !errors.Is(err, errcodes.ReadFailed) {
				t.Errorf("Read gives %v, not T506", err)
			}
			if found := findings(t, store); len(found) != 1 || found[0].Subject != Path(id) {
				t.Errorf("Check finds %v", found)
			}
			if _, err := Put(&storage.Disk{Root: root}, []byte("good")); err != nil {
				t.Fatal(err)
			}
			if back, err := Read(root, id); err != nil || string(back) != "good" {
				t.Errorf("after Put: %q, %v", back, err)
			}
		})
	}
}

func TestReadRefusesWhatIsNoObject(t *testing.T) {
	_, root, _ := newStore(t)
	for _, id := range []string{"", "../../etc/passwd", strings.Repeat("g", 64), strings.Repeat("A", 64), Hash([]byte("missing"))} {
		if _, err := Read(root, id); !errors.Is(err, errcodes.ReadFailed) {
			t.Errorf("Read(%q) = %v, not T506", id, err)
		}
	}
}

func TestPutRefusesAShardThatIsNoDirectory(t *testing.T) {
	_, root, path := newStore(t)
	id := Hash([]byte("x"))
	outside := t.TempDir()
	os.MkdirAll(filepath.Join(path, "objects"), 0o755)
	if err := os.Symlink(outside, filepath.Join(path, "objects", id[:2])); err != nil {
		t.Fatal(err)
	}
	if _, err := Put(&storage.Disk{Root: root}, []byte("x")); !errors.Is(err, errcodes.WriteFailed) {
		t.Errorf("Put through a link gives %v, not T503", err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Error("something was written outside the store")
	}
	os.Remove(filepath.Join(path, "objects", id[:2]))
}

func TestManyPutTheSameAtOnce(t *testing.T) {
	_, root, path := newStore(t)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for n := range 8 {
				if _, err := Put(&storage.Disk{Root: root}, bytes.Repeat([]byte{byte(n)}, 10_000)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	left, _ := filepath.Glob(filepath.Join(path, storage.StagingDir, "*"))
	if len(left) > 0 {
		t.Errorf("temporary files were left: %v", left)
	}
}

func TestNextUpdateRemovesWhatADeadWriterLeft(t *testing.T) {
	store, root, path := newStore(t)
	if _, err := Put(&storage.Disk{Root: root}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(path, storage.StagingDir, "object-left")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := store.Update(t.Context(), storage.Operation{Name: "next"}, func(*storage.Tx) error { return nil })
	if _, there := os.Lstat(left); err != nil || there == nil {
		t.Errorf("it is still there: %v", err)
	}
}
