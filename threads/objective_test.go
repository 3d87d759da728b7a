package threads

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

func (r *room) objective(id, title string) (o Objective, err error) {
	_, err = r.update(func(tx *storage.Tx) (err error) { o, err = CreateObjective(tx, id, title); return err })
	return o, err
}

func TestObjectives(t *testing.T) {
	r := newRoom(t)
	for i := range 4 {
		if _, err := r.objective(fmt.Sprintf("o%d", 9-i), "t"); err != nil {
			t.Fatal(err)
		}
	}
	made, err := r.objective("", "made")
	if err != nil || CheckID(made.ID) != nil || made.Status != ObjectiveActive || made.Revision != 1 {
		t.Fatalf("%+v, %v", made, err)
	}
	_, err = r.objective("o9", "again")
	wantCode(t, err, errcodes.ObjectiveExists, "objectiveId", "o9")
	for _, bad := range [][2]string{{"a/b", "t"}, {"x", ""}, {"x", "a\nb"}, {"x", " "}} {
		_, err = r.objective(bad[0], bad[1])
		wantCode(t, err, errcodes.Usage)
	}
	r.view(func(v *storage.View) error {
		list, more, err := Objectives(v, 3, "")
		if ids := idsOf(list); err != nil || !slices.Equal(ids, []string{"o7", "o6", made.ID}) || !more {
			t.Errorf("%v, %v", ids, more)
		}
		if list, more, _ := Objectives(v, 0, ""); len(list) != 5 || more {
			t.Errorf("%v, %v", list, more)
		}
		list, more, err = Objectives(v, 2, "o6")
		if ids := idsOf(list); err != nil || !slices.Equal(ids, []string{"o8", "o7"}) || !more {
			t.Errorf("before o6: %v, %v, %v", ids, more, err)
		}
		list, more, err = Objectives(v, 2, "o8")
		if ids := idsOf(list); err != nil || !slices.Equal(ids, []string{"o9"}) || more {
			t.Errorf("before o8: %v, %v, %v", ids, more, err)
		}
		_, _, err = Objectives(v, 2, "o99")
		wantCode(t, err, errcodes.ObjectiveNotFound, "objectiveId", "o99")
		_, err2 := FindObjective(v, "o99")
		wantCode(t, err2, errcodes.ObjectiveNotFound, "objectiveId", "o99")
		_, _, err2 = Objectives(v, -1, "")
		wantCode(t, err2, errcodes.Usage)
		return nil
	})
}

func idsOf(list []Objective) (ids []string) {
	for _, o := range list {
		ids = append(ids, o.ID)
	}
	return ids
}

func TestMembers(t *testing.T) {
	r := newRoom(t)
	r.objective("o1", "one")
	r.objective("o2", "two")
	for id, s := range map[string]Status{"b": Active, "a": Active, "c": Archived, "d": Failed} {
		r.spawn(Spawn{ID: id, ObjectiveID: "o1"})
		r.force(id, s)
	}
	r.spawn(Spawn{ID: "other", ObjectiveID: "o2", Intent: "mentions o1 and \"o1\""})
	r.view(func(v *storage.View) error {
		ids, counts, err := Members(v, "o1")
		if !slices.Equal(ids, []string{"a", "b", "c", "d"}) || !maps.Equal(counts, map[Status]int{Active: 2, Archived: 1, Failed: 1}) {
			t.Errorf("%v %v", ids, counts)
		}
		if ids, counts, _ := Members(v, "none"); ids == nil || counts == nil || len(ids)+len(counts) > 0 {
			t.Errorf("%v %v", ids, counts)
		}
		return err
	})
}
