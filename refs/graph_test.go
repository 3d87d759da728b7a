package refs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

func TestACircleIsNamedWhole(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b", "c", "d")
	_, _, err := r.tryAdd("a", "a", Live)
	wantCode(t, err, errcodes.CircularReference, "path", []string{"a", "a"}, "references", []string{})
	ab := r.add("a", "b", Live).Reference.ID
	bc := r.add("b", "c", Frozen).Reference.ID
	cd := r.add("c", "d", Live).Reference.ID
	ad := r.add("a", "d", Live).Reference.ID
	_, _, err = r.tryAdd("c", "a", Frozen)
	wantCode(t, err, errcodes.CircularReference, "path", []string{"c", "a", "b", "c"}, "references", []string{ab, bc})
	_, _, err = r.tryAdd("d", "a", Live)
	wantCode(t, err, errcodes.CircularReference, "path", []string{"d", "a", "d"}, "references", []string{ad})
	_, _, err = r.tryAdd("d", "b", Live)
	wantCode(t, err, errcodes.CircularReference, "path", []string{"d", "b", "c", "d"}, "references", []string{bc, cd})
	r.update(func(tx *storage.Tx) error { _, err := Remove(tx, bc); return err })
	r.add("c", "a", Frozen)
}

func TestACircleThroughAMissingTargetIsRefused(t *testing.T) {
	r := newRoom(t)
	r.threads("a")
	if _, _, err := r.tryAdd("a", "later", Live); err != nil {
		t.Fatal(err)
	}
	r.threads("later")
	_, _, err := r.tryAdd("later", "a", Live)
	wantCode(t, err, errcodes.CircularReference, "path", []string{"later", "a", "later"})
}

// A search that is longer than the lookups it may make reads the whole graph.
func TestALongCircleIsFound(t *testing.T) {
	r := newRoom(t)
	const length = 3 * manyLookups
	_, err := r.update(func(tx *storage.Tx) error {
		for i := range length {
			if _, err := tx.Put(threadKey(fmt.Sprintf("t%d", i)), map[string]string{"status": "active"}); err != nil {
				return err
			}
			if i == 0 {
				continue
			}
			if _, err := Add(tx, fmt.Sprintf("t%d", i-1), fmt.Sprintf("t%d", i), nil, Live); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = r.tryAdd(fmt.Sprintf("t%d", length-1), "t0", Live)
	wantCode(t, err, errcodes.CircularReference)
	path, _ := errcodes.Of(err).Detail("path").([]string)
	if len(path) != length+1 || path[0] != path[length] {
		t.Errorf("the path has %d threads", len(path))
	}
}

// model is the graph as a set of edges, with a search that is too simple to
// be wrong.
type model struct {
	threads map[string]bool
	edges   map[string][2]string // by reference
}

func (m *model) reaches(from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	seen[from] = true
	for _, edge := range m.edges {
		if edge[0] == from && !seen[edge[1]] && m.reaches(edge[1], to, seen) {
			return true
		}
	}
	return false
}

func TestReferencesStayAcyclic(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "refs")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		r := open(t, dir)
		r.threads(names[:4]...)
		m := &model{threads: map[string]bool{"a": true, "b": true, "c": true, "d": true}, edges: map[string][2]string{}}
		one := rapid.SampledFrom(names)
		// All of a run is one operation, for speed; Add, Remove and Check see it as it grows.
		_, err = r.update(func(tx *storage.Tx) error {
			t.Repeat(map[string]func(*rapid.T){
				"add": func(t *rapid.T) {
					m.add(t, tx, one.Draw(t, "from"), one.Draw(t, "target"), rapid.SampledFrom(Bindings()).Draw(t, "binding"))
				},
				"remove": func(t *rapid.T) { m.remove(t, tx) },
				"spawn": func(t *rapid.T) {
					id := one.Draw(t, "id")
					m.threads[id] = true
					if _, err := tx.Put(threadKey(id), map[string]string{"status": "active"}); err != nil {
						t.Fatal(err)
					}
				},
				"": func(t *rapid.T) { m.agree(t, tx) },
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r.close()
	})
}

func (m *model) add(t *rapid.T, tx *storage.Tx, from, target string, b Binding) {
	added, err := Add(tx, from, target, nil, b)
	switch {
	case !m.threads[from]:
		wantCode(t, err, errcodes.ThreadNotFound)
	case m.reaches(target, from, map[string]bool{}):
		wantCode(t, err, errcodes.CircularReference)
		m.checkPath(t, err, from, target)
	case err != nil:
		t.Fatal(err)
	default:
		m.edges[added.Reference.ID] = [2]string{from, target}
		if added.Reference.TargetResolved != m.threads[target] {
			t.Fatalf("resolved: %v", added.Reference.TargetResolved)
		}
	}
}

// checkPath walks the circle that T201 names along references that exist.
func (m *model) checkPath(t *rapid.T, err error, from, target string) {
	path := errcodes.Of(err).Detail("path").([]string)
	references := errcodes.Of(err).Detail("references").([]string)
	if path[0] != from || path[1] != target || path[len(path)-1] != from || len(references) != len(path)-2 {
		t.Fatalf("from %s to %s: path %v, references %v", from, target, path, references)
	}
	for i, id := range references {
		if m.edges[id] != [2]string{path[i+1], path[i+2]} {
			t.Fatalf("reference %s is %v, not a step of %v", id, m.edges[id], path)
		}
	}
}

func (m *model) remove(t *rapid.T, tx *storage.Tx) {
	var ids []string
	for id := range m.edges {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		t.Skip("nothing to remove")
	}
	slices.Sort(ids)
	id := rapid.SampledFrom(ids).Draw(t, "reference")
	if _, err := Remove(tx, id); err != nil {
		t.Fatal(err)
	}
	delete(m.edges, id)
	if _, err := Find(tx, id); !errors.Is(err, errcodes.ReferenceNotFound) {
		t.Fatalf("after Remove: %v", err)
	}
}

func (m *model) agree(t *rapid.T, tx *storage.Tx) {
	list, _, err := All(tx, 1000)
	if err != nil || len(list) != len(m.edges) {
		t.Fatalf("%d references, want %d; %v", len(list), len(m.edges), err)
	}
	for _, ref := range list {
		if m.edges[ref.ID] != [2]string{ref.From, ref.Target} {
			t.Fatalf("%+v is not in the model", ref)
		}
	}
	checks, err := Check(tx)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range checks {
		for _, f := range check.Findings {
			if f.Code != errcodes.TargetCorrupted { // copies come with the commit
				t.Fatalf("%s: %s", f.Subject, f.Message)
			}
		}
	}
}

func TestCheckFindsCirclesAndMendsIndexes(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b", "c")
	ab := r.add("a", "b", Live).Reference
	bc := r.add("b", "c", Live).Reference
	back := Reference{ID: "ref-back", From: "c", Target: "a", Binding: Live}
	harm := func(change func(tx *storage.Tx) error) {
		t.Helper()
		if _, err := r.update(change); err != nil {
			t.Fatal(err)
		}
	}
	harm(func(tx *storage.Tx) error { save(tx, back); return index(tx, back) })
	found := r.findings()
	if len(found) != 1 || found[0].Code != errcodes.CircularReference {
		t.Errorf("%v", found)
	}
	harm(func(tx *storage.Tx) error { _, err := Remove(tx, back.ID); return err })
	harm(func(tx *storage.Tx) error {
		tx.Delete(fromKey("a", ab.ID))
		tx.Put(targetKey("c", bc.ID), targetEdge{"x"})
		_, err := tx.Put(fromKey("a", "nobody"), fromEdge{"b"})
		return err
	})
	found = r.findings()
	if len(found) != 3 {
		t.Errorf("%v", found)
	}
	harm(func(tx *storage.Tx) error {
		for _, f := range found {
			if err := f.Repair(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestCheckFindsReferencesOfNoThread(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b")
	ref := r.add("a", "b", Live).Reference
	harm := func(change func(tx *storage.Tx) error) {
		t.Helper()
		if _, err := r.update(change); err != nil {
			t.Fatal(err)
		}
	}
	harm(func(tx *storage.Tx) error { return tx.Delete(threadKey("b")) })
	if found := r.findings(); len(found) != 0 {
		t.Errorf("a target may be missing, but: %v", found)
	}
	harm(func(tx *storage.Tx) error { return tx.Delete(threadKey("a")) })
	if found := r.findings(); len(found) != 1 || found[0].Code != errcodes.ThreadNotFound || found[0].Subject != key(ref.ID) {
		t.Errorf("%v", found)
	}
	harm(func(tx *storage.Tx) error { _, err := Remove(tx, ref.ID); return err })
}
