package threads

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

// repair runs every repair that the findings offer.
func (r *room) repair(found []storage.Finding) {
	r.t.Helper()
	_, err := r.update(func(tx *storage.Tx) error {
		for _, f := range found {
			if f.Repair != nil {
				if err := f.Repair(tx); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) harm(change func(tx *storage.Tx) error) {
	r.t.Helper()
	if _, err := r.update(change); err != nil {
		r.t.Fatal(err)
	}
}

func TestCheckFindsAndMendsTheIndex(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "p"})
	r.spawn(Spawn{ID: "c", ParentID: "p"})
	r.harm(func(tx *storage.Tx) error {
		tx.Put(childKey("c", "p"), struct{}{})
		tx.Put(childKey("p", "nobody"), struct{}{})
		return tx.Delete(childKey("p", "c"))
	})
	found := r.findings()
	if len(found) != 3 {
		t.Errorf("%v", found)
	}
	r.repair(found)
	r.view(func(v *storage.View) error {
		if children, _ := Children(v, "p"); len(children) != 1 {
			t.Errorf("children %v", children)
		}
		return nil
	})
}

func TestCheckFindsWhatNoIndexCanMend(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(tx *storage.Tx) error
		mend func(tx *storage.Tx) error
		code errcodes.Code
	}{
		"state": {
			func(tx *storage.Tx) error {
				x, _ := Find(tx, "c")
				x.Status = "lost"
				_, err := save(tx, x)
				return err
			},
			func(tx *storage.Tx) error {
				x, _ := Find(tx, "c")
				x.Status = Active
				_, err := save(tx, x)
				return err
			},
			errcodes.StoreCorrupted,
		},
		"objective": {
			func(tx *storage.Tx) error { return tx.Delete(objectiveKey("obj-default")) },
			func(tx *storage.Tx) error { _, err := CreateObjective(tx, "obj-default", "x"); return err },
			errcodes.ObjectiveNotFound,
		},
		"own ancestor": {
			func(tx *storage.Tx) error {
				x, _ := Find(tx, "p")
				x.ParentID = "c"
				index(tx, x)
				_, err := save(tx, x)
				return err
			},
			func(tx *storage.Tx) error {
				x, _ := Find(tx, "p")
				x.ParentID = ""
				tx.Delete(childKey("c", "p"))
				_, err := save(tx, x)
				return err
			},
			errcodes.StoreCorrupted,
		},
		"parent": {
			func(tx *storage.Tx) error {
				x, _ := Find(tx, "p")
				x.ParentID = "no"
				index(tx, x)
				_, err := save(tx, x)
				return err
			},
			func(tx *storage.Tx) error {
				x, _ := Find(tx, "p")
				x.ParentID = ""
				tx.Delete(childKey("no", "p"))
				_, err := save(tx, x)
				return err
			},
			errcodes.ThreadNotFound,
		},
		"another id": {
			func(tx *storage.Tx) error {
				x, _ := Find(tx, "c")
				x.ID = "d"
				_, err := tx.Put(key("c"), x)
				return err
			},
			func(tx *storage.Tx) error { x, _ := Find(tx, "c"); x.ID = "c"; _, err := save(tx, x); return err },
			errcodes.StoreCorrupted,
		},
		"injection": {
			func(tx *storage.Tx) error { _, err := tx.Put(injectionKey("no", "i"), Injection{}); return err },
			func(tx *storage.Tx) error { return tx.Delete(injectionKey("no", "i")) },
			errcodes.ThreadNotFound,
		},
		"objective's state": {
			func(tx *storage.Tx) error { _, err := saveObjective(tx, Objective{ID: "o", Status: "?"}); return err },
			func(tx *storage.Tx) error { return tx.Delete(objectiveKey("o")) },
			errcodes.StoreCorrupted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.spawn(Spawn{ID: "p"})
			r.spawn(Spawn{ID: "c", ParentID: "p"})
			r.harm(c.harm)
			found := r.findings()
			if len(found) == 0 || found[0].Code != c.code {
				t.Errorf("found %v", found)
			}
			r.harm(c.mend)
		})
	}
}

func TestCheckFindsADamagedBase(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "p"})
	r.put("p", "a", "precious")
	r.spawn(Spawn{ID: "c", ParentID: "p"})
	object := filepath.Join(r.path, objects.Path(objects.Hash([]byte("precious"))))
	os.Remove(object)
	if found := r.findings(); len(found) != 1 || found[0].Subject != "thread/c" || !strings.Contains(found[0].Message, "'a'") {
		t.Errorf("%v", found)
	}
	r.put("p", "b", "precious")
}

func TestCheckFindsWhatIsNoDirectoryOfAThread(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "a"})
	artifacts := filepath.Join(r.path, "threads", "a", "artifacts")
	if err := os.Remove(artifacts); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), artifacts); err != nil {
		t.Fatal(err)
	}
	r.plant("lost", "notes.md", "of a thread that the store has lost")
	var found []string
	r.view(func(v *storage.View) error {
		checks, err := Check(v)
		for _, check := range checks {
			for _, finding := range check.Findings {
				found = append(found, finding.Subject+" "+string(finding.Code))
			}
		}
		return err
	})
	if want := []string{"threads/a T503", "threads/lost T101"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	os.RemoveAll(filepath.Join(r.path, "threads", "lost"))
	os.Remove(artifacts)
}
