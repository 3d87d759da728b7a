// Package threads holds what leslie knows of threads: their records, their
// states, their objectives, what is injected into them, and their artifacts.
//
// Every function that reads takes a storage.Reader, every function that
// writes a *storage.Tx: this room never opens a transaction, and what it
// wrote is durable when the caller's transaction is.
//
// Records: thread/<id>, child/<parentId>/<id> (an index), objective/<id> and
// injection/<threadId>/<injectionId>. Files: threads/<id>/artifacts/PATH.
package threads

import (
	"slices"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

// Status is the state of a thread; it is always one of Statuses.
type Status string

// The states of a thread.
const (
	Active       Status = "active"
	Suspended    Status = "suspended"
	WaitingHuman Status = "waiting_human"
	Completed    Status = "completed"
	Failed       Status = "failed"
	Cancelled    Status = "cancelled"
	Archived     Status = "archived"
)

// Statuses returns every state, the unfinished ones first.
func Statuses() []Status {
	return []Status{Active, Suspended, WaitingHuman, Completed, Failed, Cancelled, Archived}
}

// Unfinished reports whether work is still expected in this state.
func (s Status) Unfinished() bool {
	return s == Active || s == Suspended || s == WaitingHuman
}

// Thread is the stored record of one thread. Tags and Scopes are never nil.
type Thread struct {
	ID          string    `json:"id"`
	Kind        string    `json:"kind"`
	Phase       string    `json:"phase,omitempty"`
	Title       string    `json:"title"`
	Intent      string    `json:"intent"`
	ObjectiveID string    `json:"objectiveId"`
	ParentID    string    `json:"parentId,omitempty"`
	Status      Status    `json:"status"`
	Executor    string    `json:"executor"`
	Tags        []string  `json:"tags"`
	Scopes      []string  `json:"scopes,omitempty"`
	Inherit     string    `json:"inherit"`
	Base        string    `json:"base,omitempty"` // id of the snapshot it inherited; "" when it inherited nothing
	Reason      string    `json:"reason,omitempty"`
	CreatedBy   string    `json:"createdBy,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`

	Revision int64 `json:"-"` // how often the record was written
	Seq      int64 `json:"-"` // the operation that wrote it last
}

const prefix = "thread/"

func key(id string) string { return prefix + id }

func childKey(parent, id string) string { return "child/" + parent + "/" + id }

func decode(record storage.Record) (Thread, error) {
	var t Thread
	if err := record.Decode(&t); err != nil {
		return Thread{}, err
	}
	t.Revision, t.Seq = record.Revision, record.Seq
	if t.Tags == nil {
		t.Tags = []string{}
	}
	if t.Scopes == nil {
		t.Scopes = []string{}
	}
	return t, nil
}

// save writes t and gives it back with the revision it now has.
func save(tx *storage.Tx, t Thread) (Thread, error) {
	record, err := tx.Put(key(t.ID), t)
	if err != nil {
		return Thread{}, err
	}
	t.Revision, t.Seq = record.Revision, record.Seq
	return t, nil
}

// touch records that something of t changed now.
func touch(tx *storage.Tx, t Thread) (Thread, error) {
	t.UpdatedAt = tx.Now()
	return save(tx, t)
}

// Find returns the thread with this id, archived ones too. ThreadNotFound
// (T101) carries in nearest up to three ids that resemble id.
func Find(r storage.Reader, id string) (Thread, error) {
	if err := CheckID(id); err != nil {
		return Thread{}, err
	}
	record, found, err := r.Get(key(id))
	if err != nil {
		return Thread{}, err
	}
	if !found {
		return Thread{}, objects.Unknown(r, prefix, id, errcodes.ThreadNotFound.With("threadId", id))
	}
	return decode(record)
}

// Children returns the ids of the threads whose parent is id, sorted. It
// does not ask whether id exists.
func Children(r storage.Reader, id string) ([]string, error) {
	under := childKey(id, "")
	ids := []string{}
	for record, err := range r.Scan(under) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, record.Key[len(under):])
	}
	return ids, nil
}

// writable refuses to change an archived thread (T102).
func writable(t Thread, action string) error {
	if t.Status != Archived {
		return nil
	}
	return errcodes.InvalidTransition.With("threadId", t.ID, "from", string(Archived), "to", string(Active),
		"current", string(Archived), "action", action, "allowed", []string{})
}

func known(s Status) bool { return slices.Contains(Statuses(), s) }
