package threads

import (
	"slices"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

// Action is what can be done to the state of a thread.
type Action string

// The actions.
const (
	Done    Action = "done"
	Fail    Action = "fail"
	Cancel  Action = "cancel"
	Suspend Action = "suspend"
	Resume  Action = "resume"
	Reopen  Action = "reopen"
	Archive Action = "archive"
)

// Actions returns every action.
func Actions() []Action {
	return []Action{Done, Fail, Cancel, Suspend, Resume, Reopen, Archive}
}

// step is one row of the table of states: what an action leads to, and from where.
type step struct {
	to   Status
	from []Status
}

// steps is the whole table: whatever changes the state of a thread goes
// through it.
var steps = map[Action]step{
	Done:    {Completed, []Status{Active, Suspended}},
	Fail:    {Failed, []Status{Active, Suspended, WaitingHuman}},
	Cancel:  {Cancelled, []Status{Active, Suspended, WaitingHuman}},
	Suspend: {Suspended, []Status{Active}},
	Resume:  {Active, []Status{Suspended, WaitingHuman, Failed}},
	Reopen:  {Active, []Status{Completed, Failed, Cancelled}},
	Archive: {Archived, []Status{Completed, Failed, Cancelled}},
}

// Allowed returns the actions that s permits, in the order of Actions; never nil.
func (s Status) Allowed() []Action {
	allowed := []Action{}
	for _, action := range Actions() {
		if slices.Contains(steps[action].from, s) {
			allowed = append(allowed, action)
		}
	}
	return allowed
}

// Changed is a thread in its new state, and the state it comes from.
type Changed struct {
	Thread Thread
	From   Status
}

// shown is how many ids an error or a warning names.
const shown = 20

// Change does a to the thread and records why. It fails with T101, with T102
// where the table of states has no such step, with T104 when the thread is to
// be done before its children, with T603 when it would be active again in a
// completed objective, and with T903. Cancelling leaves open children alone
// and warns of them (W104).
func Change(tx *storage.Tx, id string, a Action, reason string) (Changed, error) {
	step, found := steps[a]
	if !found {
		return Changed{}, oneOf("action", string(a), names(Actions()))
	}
	if err := checkText("the reason", reason, longestText, lineCharacters); err != nil {
		return Changed{}, err
	}
	t, err := Find(tx, id)
	if err != nil {
		return Changed{}, err
	}
	if !slices.Contains(step.from, t.Status) {
		return Changed{}, errcodes.InvalidTransition.With("threadId", id, "from", string(t.Status), "to", string(step.to),
			"current", string(t.Status), "action", string(a), "allowed", names(t.Status.Allowed()))
	}
	if err := consider(tx, t, a, step.to); err != nil {
		return Changed{}, err
	}
	from := t.Status
	t.Status, t.Reason = step.to, reason
	t, err = touch(tx, t)
	return Changed{Thread: t, From: from}, err
}

// consider looks at what else speaks against the step.
func consider(tx *storage.Tx, t Thread, a Action, to Status) error {
	switch {
	case to == Active:
		return openObjective(tx, t.ObjectiveID)
	case a != Done && a != Cancel:
		return nil
	}
	open, err := openChildren(tx, t.ID)
	if err != nil || len(open) == 0 {
		return err
	}
	some := open[:min(len(open), shown)]
	if a == Done {
		return errcodes.ChildrenUnfinished.With("threadId", t.ID, "count", len(open), "children", some)
	}
	tx.Warn(errcodes.ChildrenOpen.Warn("threadId", t.ID, "count", len(open), "children", some))
	return nil
}

func openChildren(r storage.Reader, id string) ([]string, error) {
	children, err := Children(r, id)
	if err != nil {
		return nil, err
	}
	var open []string
	for _, child := range children {
		t, err := Find(r, child)
		if err != nil {
			return nil, err
		}
		if t.Status.Unfinished() {
			open = append(open, child)
		}
	}
	return open, nil
}

func names[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, element := range list {
		out[i] = string(element)
	}
	return out
}
