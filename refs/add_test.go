package refs

import (
	"strings"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

func TestAddRefuses(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b", "old")
	r.archive("old")
	_, _, err := r.tryAdd("nobody", "b", Frozen)
	wantCode(t, err, errcodes.ThreadNotFound, "threadId", "nobody")
	_, _, err = r.tryAdd("old", "b", Frozen)
	wantCode(t, err, errcodes.InvalidTransition, "threadId", "old", "action", "reference", "current", "archived", "allowed", []string{})
	for _, c := range [][3]string{{"../a", "b"}, {"a", "../b"}, {"a", ""}, {"a", "b", "solid"}} {
		_, _, err := r.tryAdd(c[0], c[1], Binding(c[2]))
		wantCode(t, err, errcodes.Usage)
	}
	_, _, err = r.tryAdd("a", "b", Frozen, "../x")
	wantCode(t, err, errcodes.Usage)
	r.view(func(v *storage.View) error {
		list, _, err := All(v, 0)
		if len(list) > 0 {
			t.Errorf("left %v", list)
		}
		return err
	})
	ref := r.add("a", "old", Frozen).Reference
	r.archive("a")
	_, _, err = r.refresh(ref.ID)
	wantCode(t, err, errcodes.InvalidTransition, "action", "reference refresh")
}

func TestListsAndRemove(t *testing.T) {
	r := newRoom(t)
	r.threads("a", "b", "c")
	first := r.add("a", "b", Live).Reference.ID
	second := r.add("a", "c", Frozen).Reference.ID
	third := r.add("b", "c", Frozen).Reference.ID
	r.refresh(second)
	list := func(read func(v *storage.View) ([]Reference, error)) string {
		var ids []string
		r.view(func(v *storage.View) error {
			refs, err := read(v)
			if refs == nil {
				t.Error("a list is nil")
			}
			for _, ref := range refs {
				ids = append(ids, ref.ID)
			}
			return err
		})
		return strings.Join(ids, " ")
	}
	for want, read := range map[string]func(v *storage.View) ([]Reference, error){
		first + " " + second: func(v *storage.View) ([]Reference, error) { return From(v, "a") },
		second + " " + third: func(v *storage.View) ([]Reference, error) { return To(v, "c") },
		"":                   func(v *storage.View) ([]Reference, error) { return To(v, "a") },
		third + " " + second: func(v *storage.View) ([]Reference, error) {
			refs, more, err := All(v, 2)
			if !more {
				t.Error("there are more")
			}
			return refs, err
		},
		first + " " + third + " " + second: func(v *storage.View) ([]Reference, error) { refs, _, err := All(v, 0); return refs, err },
	} {
		if got := list(read); got != want {
			t.Errorf("listed %q, want %q", got, want)
		}
	}
	var removed Reference
	if _, err := r.update(func(tx *storage.Tx) (err error) { removed, err = Remove(tx, second); return err }); err != nil || removed.ID != second {
		t.Errorf("%+v, %v", removed, err)
	}
	if got := list(func(v *storage.View) ([]Reference, error) { return To(v, "c") }); got != third {
		t.Errorf("to c: %q", got)
	}
	_, err := r.update(func(tx *storage.Tx) error { _, err := Remove(tx, second); return err })
	wantCode(t, err, errcodes.ReferenceNotFound, "refId", second)
	_, err = r.resolved("a/b", "x")
	wantCode(t, err, errcodes.Usage)
}
