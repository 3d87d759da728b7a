package threads

import (
	"fmt"
	"slices"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

// The table of states as the contract prints it: a row for each state, a
// column for each of done, fail, cancel, suspend, resume, reopen, archive.
var contract = map[Status][7]Status{
	Active:       {Completed, Failed, Cancelled, Suspended, "", "", ""},
	Suspended:    {Completed, Failed, Cancelled, "", Active, "", ""},
	WaitingHuman: {"", Failed, Cancelled, "", Active, "", ""},
	Failed:       {"", "", "", "", Active, Active, Archived},
	Completed:    {"", "", "", "", "", Active, Archived},
	Cancelled:    {"", "", "", "", "", Active, Archived},
	Archived:     {"", "", "", "", "", "", ""},
}

var leadsTo = []Status{Completed, Failed, Cancelled, Suspended, Active, Active, Archived}

func TestEveryStateTimesEveryAction(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "x"})
	for _, from := range Statuses() {
		allowed := []string{}
		for i, action := range Actions() {
			if contract[from][i] != "" {
				allowed = append(allowed, string(action))
			}
		}
		for i, action := range Actions() {
			t.Run(fmt.Sprintf("%s %s", from, action), func(t *testing.T) {
				r.force("x", from)
				before := r.find("x")
				changed, _, err := r.change("x", action)
				after := r.find("x")
				to := contract[from][i]
				if to == "" {
					wantCode(t, err, errcodes.InvalidTransition, "threadId", "x", "from", string(from), "to", string(leadsTo[i]),
						"current", string(from), "action", string(action), "allowed", allowed)
					if after.Revision != before.Revision || after.Status != from {
						t.Errorf("a refused action changed the record: %+v", after)
					}
					return
				}
				if err != nil || changed.From != from || changed.Thread.Status != to || after.Status != to || after.Reason != "because" ||
					after.Revision != before.Revision+1 || changed.Thread.Revision != after.Revision || !after.UpdatedAt.After(before.UpdatedAt) {
					t.Errorf("%+v, %v", changed, err)
				}
			})
		}
	}
}

func TestChangeOfNothing(t *testing.T) {
	r := newRoom(t)
	_, _, err := r.change("nobody", Done)
	wantCode(t, err, errcodes.ThreadNotFound)
	_, _, err = r.change("nobody", "explode")
	wantCode(t, err, errcodes.Usage, "allowed", names(Actions()))
	_, err = r.update(func(tx *storage.Tx) error { _, err := Change(tx, "nobody", Done, "a\x1b"); return err })
	wantCode(t, err, errcodes.Usage)
}

func TestDoneAndCancelMindTheChildren(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "p"})
	for _, id := range []string{"c1", "c2", "c3", "c4"} {
		r.spawn(Spawn{ID: id, ParentID: "p"})
	}
	r.force("c2", WaitingHuman)
	r.force("c3", Suspended)
	r.force("c4", Failed)
	_, _, err := r.change("p", Done)
	wantCode(t, err, errcodes.ChildrenUnfinished, "threadId", "p", "count", 3, "children", []string{"c1", "c2", "c3"})
	_, warnings, err := r.change("p", Cancel)
	if err != nil || !slices.Equal(codes(warnings), []errcodes.Code{errcodes.ChildrenOpen}) {
		t.Errorf("%v, %v", warnings, err)
	}
	if got := r.find("c1").Status; got != Active {
		t.Errorf("the child is %s", got)
	}
	for _, id := range []string{"c1", "c2", "c3"} {
		r.force(id, Completed)
	}
	r.change("p", Reopen)
	if _, warnings, err := r.change("p", Done); err != nil || len(warnings) > 0 {
		t.Errorf("%v, %v", warnings, err)
	}
}

func TestATooLongListOfChildrenIsCut(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "p"})
	_, err := r.update(func(tx *storage.Tx) error {
		for range 25 {
			if _, err := New(tx, Spawn{ParentID: "p", Intent: "x"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = r.change("p", Done)
	wantCode(t, err, errcodes.ChildrenUnfinished, "count", 25)
	if list := errcodes.Of(err).Detail("children").([]string); len(list) != 20 {
		t.Errorf("%d children are named", len(list))
	}
}

func TestNoThreadBecomesActiveInACompletedObjective(t *testing.T) {
	r := newRoom(t)
	for id, s := range map[string]Status{"done": Completed, "failed": Failed, "gone": Archived} {
		r.spawn(Spawn{ID: id})
		r.force(id, s)
	}
	complete := func() error {
		_, err := r.update(func(tx *storage.Tx) error { _, err := CompleteObjective(tx, "obj-default"); return err })
		return err
	}
	r.spawn(Spawn{ID: "open"})
	r.spawn(Spawn{ID: "asks"})
	r.force("asks", WaitingHuman)
	wantCode(t, complete(), errcodes.ObjectiveUnfinished, "objectiveId", "obj-default", "count", 2, "threadIds", []string{"asks", "open"})
	r.force("open", Cancelled)
	r.force("asks", Failed)
	if err := complete(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, complete(), errcodes.ObjectiveCompleted)
	for id, a := range map[string]Action{"done": Reopen, "failed": Resume, "open": Reopen} {
		_, _, err := r.change(id, a)
		wantCode(t, err, errcodes.ObjectiveCompleted, "objectiveId", "obj-default")
	}
	if _, _, err := r.change("done", Archive); err != nil {
		t.Errorf("archiving is no work: %v", err)
	}
}
