// Package refs holds the references between threads: who draws on whose
// artifacts, frozen as a snapshot or live.
//
// References make a graph without circles, over all threads and also over
// targets that do not exist yet. Every function that reads takes a
// storage.Reader, every function that writes a *storage.Tx, and what it wrote
// is durable when the caller's transaction is.
//
// Records: reference/<refId>, and the indexes refFrom/<threadId>/<refId> and
// refTarget/<targetId>/<refId>. Files: the copies of frozen references,
// threads/<from>/context/<refId>/<version>/PATH, mode 0444. Only artifacts
// are ever copied, never a context, so chains of references do not grow.
package refs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

// Binding says when a reference reads its target: at the time it is made or
// refreshed, or each time it is used.
type Binding string

// The bindings.
const (
	Frozen Binding = "frozen"
	Live   Binding = "live"
)

// Bindings returns what a binding can be, the default first.
func Bindings() []Binding { return []Binding{Frozen, Live} }

// Reference is the stored record of one reference. Scopes is never nil; an
// empty one covers everything. Snapshot and SnapshotVersion (from 1) are set
// where a frozen reference was resolved.
type Reference struct {
	ID              string    `json:"id"`
	From            string    `json:"from"`
	Target          string    `json:"target"`
	Scopes          []string  `json:"scopes,omitempty"`
	Binding         Binding   `json:"binding"`
	SnapshotVersion int       `json:"snapshotVersion,omitempty"`
	Snapshot        string    `json:"snapshot,omitempty"` // the id of the manifest
	TargetResolved  bool      `json:"targetResolved"`     // of a live one: whether the target exists now
	CreatedAt       time.Time `json:"createdAt"`
	UpdatedAt       time.Time `json:"updatedAt"`

	Revision int64 `json:"-"` // how often the record was written
	Seq      int64 `json:"-"` // the operation that wrote it last
}

// fromEdge and targetEdge are what the indexes hold: the other end.
type fromEdge struct {
	Target string `json:"target"`
}

type targetEdge struct {
	From string `json:"from"`
}

const prefix = "reference/"

func key(id string) string               { return prefix + id }
func fromKey(thread, id string) string   { return "refFrom/" + thread + "/" + id }
func targetKey(target, id string) string { return "refTarget/" + target + "/" + id }
func threadKey(id string) string         { return "thread/" + id }
func usage(problem string) error         { return errcodes.Usage.With("problem", problem) }
func (ref Reference) folder() string     { return "threads/" + ref.From + "/context/" + ref.ID }
func (ref Reference) artifacts() string  { return objects.ArtifactsDir(ref.Target) }

func decode(r storage.Reader, record storage.Record) (Reference, error) {
	ref, err := decoded(record)
	if err == nil && ref.Binding == Live {
		_, ref.TargetResolved, err = r.Get(threadKey(ref.Target))
	}
	return ref, err
}

// decoded returns what the record itself says.
func decoded(record storage.Record) (Reference, error) {
	var ref Reference
	if err := record.Decode(&ref); err != nil {
		return Reference{}, err
	}
	ref.Revision, ref.Seq = record.Revision, record.Seq
	if ref.Scopes == nil {
		ref.Scopes = []string{}
	}
	return ref, nil
}

func save(tx *storage.Tx, ref Reference) (Reference, error) {
	ref.UpdatedAt = tx.Now()
	record, err := tx.Put(key(ref.ID), ref)
	ref.Revision, ref.Seq = record.Revision, record.Seq
	return ref, err
}

// index writes both indexes of ref.
func index(tx *storage.Tx, ref Reference) error {
	if _, err := tx.Put(fromKey(ref.From, ref.ID), fromEdge{ref.Target}); err != nil {
		return err
	}
	_, err := tx.Put(targetKey(ref.Target, ref.ID), targetEdge{ref.From})
	return err
}

// Find returns the reference with this id, or T203 with up to three ids in
// nearest that resemble it.
func Find(r storage.Reader, refID string) (Reference, error) {
	if err := objects.CheckID(refID); err != nil {
		return Reference{}, err
	}
	record, found, err := r.Get(key(refID))
	if err != nil {
		return Reference{}, err
	}
	if !found {
		return Reference{}, objects.Unknown(r, prefix, refID, errcodes.ReferenceNotFound.With("refId", refID))
	}
	return decode(r, record)
}

// From returns the references that a thread makes, the oldest first; never
// nil. It does not ask whether the thread exists.
func From(r storage.Reader, threadID string) ([]Reference, error) {
	return listed(r, fromKey(threadID, ""))
}

// To returns the references to a thread, the oldest first; never nil. The
// thread need not exist.
func To(r storage.Reader, threadID string) ([]Reference, error) {
	return listed(r, targetKey(threadID, ""))
}

// listed returns the references that an index names under a prefix.
func listed(r storage.Reader, under string) ([]Reference, error) {
	list := []Reference{}
	for record, err := range r.Scan(under) {
		if err != nil {
			return nil, err
		}
		ref, err := Find(r, strings.Clone(record.Key[len(under):]))
		if err != nil {
			return nil, err
		}
		list = append(list, ref)
	}
	slices.SortFunc(list, func(a, b Reference) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

const defaultLimit = 50

// All returns the limit references that were changed last, the newest last,
// and whether there are more. A limit of 0 is 50.
func All(r storage.Reader, limit int) (list []Reference, more bool, err error) {
	if limit < 0 {
		return nil, false, usage("a limit is 1 or more")
	}
	limit = cmp.Or(limit, defaultLimit)
	type place struct {
		seq int64
		id  string
	}
	var places []place
	for record, err := range r.Scan(prefix) {
		if err != nil {
			return nil, false, err
		}
		places = append(places, place{record.Seq, strings.Clone(record.Key[len(prefix):])})
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.id, b.id)) })
	more = len(places) > limit
	list = []Reference{}
	for _, place := range places[max(0, len(places)-limit):] {
		ref, err := Find(r, place.id)
		if err != nil {
			return nil, false, err
		}
		list = append(list, ref)
	}
	return list, more, nil
}
