package threads

import (
	"slices"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

// The states of an objective.
const (
	ObjectiveActive    = "active"
	ObjectiveCompleted = "completed"
)

// Objective is the stored record of what a set of threads works for.
type Objective struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`

	Revision int64 `json:"-"`
	Seq      int64 `json:"-"`
}

// The objective of a thread for which nobody named one.
const (
	defaultObjective = "obj-default"
	defaultTitle     = "Default objective"
)

func objectiveKey(id string) string { return "objective/" + id }

func decodeObjective(record storage.Record) (Objective, error) {
	var o Objective
	err := record.Decode(&o)
	o.Revision, o.Seq = record.Revision, record.Seq
	return o, err
}

func saveObjective(tx *storage.Tx, o Objective) (Objective, error) {
	o.UpdatedAt = tx.Now()
	record, err := tx.Put(objectiveKey(o.ID), o)
	o.Revision, o.Seq = record.Revision, record.Seq
	return o, err
}

// CreateObjective makes an active objective; id "" makes an id too. It fails
// with T604 where the id is taken, and T903.
func CreateObjective(tx *storage.Tx, id, title string) (Objective, error) {
	if err := checkWords("the title", title, longestTitle, ""); err != nil {
		return Objective{}, err
	}
	id, err := freshObjectiveID(tx, id)
	if err != nil {
		return Objective{}, err
	}
	return saveObjective(tx, Objective{ID: id, Title: title, Status: ObjectiveActive, CreatedAt: tx.Now()})
}

func freshObjectiveID(tx *storage.Tx, given string) (string, error) {
	if given == "" {
		return newID(tx, "obj-", objectiveKey)
	}
	if err := CheckID(given); err != nil {
		return "", err
	}
	_, taken, err := tx.Get(objectiveKey(given))
	if err == nil && taken {
		err = errcodes.ObjectiveExists.With("objectiveId", given)
	}
	return given, err
}

// FindObjective returns the objective with this id, or T601.
func FindObjective(r storage.Reader, id string) (Objective, error) {
	if err := CheckID(id); err != nil {
		return Objective{}, err
	}
	record, found, err := r.Get(objectiveKey(id))
	if err != nil {
		return Objective{}, err
	}
	if !found {
		return Objective{}, objects.Unknown(r, objectiveKey(""), id, errcodes.ObjectiveNotFound.With("objectiveId", id))
	}
	return decodeObjective(record)
}

// openObjective returns T603 where the objective is completed, T601 where there is none.
func openObjective(r storage.Reader, id string) error {
	o, err := FindObjective(r, id)
	if err == nil && o.Status == ObjectiveCompleted {
		return errcodes.ObjectiveCompleted.With("objectiveId", id)
	}
	return err
}

// objectiveFor chooses the objective of a new thread, and makes the default
// one where it is needed for the first time.
func objectiveFor(tx *storage.Tx, s Spawn, parent Thread) (string, error) {
	for _, id := range []string{s.ObjectiveID, parent.ObjectiveID, s.DefaultObjective} {
		if id != "" {
			return id, openObjective(tx, id)
		}
	}
	_, made, err := tx.Get(objectiveKey(defaultObjective))
	if err != nil {
		return "", err
	}
	if !made {
		_, err := CreateObjective(tx, defaultObjective, defaultTitle)
		return defaultObjective, err
	}
	return defaultObjective, openObjective(tx, defaultObjective)
}

// Objectives returns the limit objectives that were changed last, the newest
// last, and whether there are older ones. A limit of 0 is 50; before, where it
// is not "", is an objective: only those listed before it. It fails with T601
// where before is none, and T903.
func Objectives(r storage.Reader, limit int, before string) (list []Objective, more bool, err error) {
	best, err := newLatest(limit)
	if err != nil {
		return nil, false, err
	}
	older, err := objectivesBefore(r, before)
	if err != nil {
		return nil, false, err
	}
	for record, err := range r.Scan(objectiveKey("")) {
		if err != nil {
			return nil, false, err
		}
		if older(record) && best.wants(record) {
			record.Value = slices.Clone(record.Value)
			best.add(record)
		}
	}
	records, more := best.sorted()
	list = []Objective{}
	for _, record := range records {
		o, err := decodeObjective(record)
		if err != nil {
			return nil, false, err
		}
		list = append(list, o)
	}
	return list, more, nil
}

func objectivesBefore(r storage.Reader, id string) (func(storage.Record) bool, error) {
	if id == "" {
		return before(nil), nil
	}
	o, err := FindObjective(r, id)
	return before(&storage.Record{Seq: o.Seq, Key: objectiveKey(o.ID)}), err
}

// Members returns the ids of the threads of an objective, archived ones too,
// sorted, and how many there are in each state. States without a thread are
// not in counts.
func Members(r storage.Reader, objectiveID string) (threadIDs []string, counts map[Status]int, err error) {
	threadIDs, counts = []string{}, map[Status]int{}
	err = members(r, objectiveID, func(t Thread) {
		threadIDs = append(threadIDs, t.ID)
		counts[t.Status]++
	})
	return threadIDs, counts, err
}

func members(r storage.Reader, objectiveID string, each func(Thread)) error {
	takes := Filter{ObjectiveID: objectiveID, All: true}.matcher()
	for record, err := range r.Scan(prefix) {
		if err != nil {
			return err
		}
		matched, err := takes(record)
		if err != nil {
			return err
		}
		if !matched {
			continue
		}
		t, err := decode(record)
		if err != nil {
			return err
		}
		each(t)
	}
	return nil
}

// CompleteObjective ends an objective. It fails with T601, with T603 when it
// is completed already, and with T602 while a thread of it is unfinished.
func CompleteObjective(tx *storage.Tx, id string) (Objective, error) {
	if err := openObjective(tx, id); err != nil {
		return Objective{}, err
	}
	var open []string
	err := members(tx, id, func(t Thread) {
		if t.Status.Unfinished() {
			open = append(open, t.ID)
		}
	})
	if err != nil {
		return Objective{}, err
	}
	if len(open) > 0 {
		some := slices.Clone(open[:min(len(open), shown)])
		return Objective{}, errcodes.ObjectiveUnfinished.With("objectiveId", id, "count", len(open), "threadIds", some)
	}
	o, err := FindObjective(tx, id)
	if err != nil {
		return Objective{}, err
	}
	o.Status = ObjectiveCompleted
	return saveObjective(tx, o)
}
