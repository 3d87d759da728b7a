package threads

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"

	"github.com/leslie-sh/leslie/storage"
)

// Filter says which threads a list is of. Empty fields do not filter, except
// that archived threads are listed only with All or Status Archived.
type Filter struct {
	Status      Status
	Kind        string
	ObjectiveID string
	ParentID    string
	Tag         string
	Executor    string
	All         bool
	Limit       int    // at most so many; 0 is 50
	Before      string // the id of a thread: only those listed before it
}

// Page is a part of a list: the threads that were changed last, the newest
// last. More says that older ones match too; Before the first of Threads gives
// them.
type Page struct {
	Threads []Thread
	More    bool
}

// List returns a page of the threads that f lets through. Recency is that of
// the operation that wrote the record last, and within one operation the
// order of ids, the first the newest. It fails with T903, and with T101 where Before is no thread.
//
// The store is read once, from one end to the other. Records are compared as
// text, and only those on the page are decoded.
func List(r storage.Reader, f Filter) (Page, error) {
	best, err := newLatest(f.Limit)
	if err != nil {
		return Page{}, err
	}
	if err := f.check(); err != nil {
		return Page{}, err
	}
	older, err := olderThan(r, f.Before)
	if err != nil {
		return Page{}, err
	}
	takes := f.matcher()
	for record, err := range r.Scan(prefix) {
		if err != nil {
			return Page{}, err
		}
		if !older(record) || !best.wants(record) {
			continue
		}
		matched, err := takes(record)
		if err != nil {
			return Page{}, err
		}
		if matched {
			record.Value = bytes.Clone(record.Value)
			best.add(record)
		}
	}
	return page(best)
}

func page(best *latest) (Page, error) {
	records, more := best.sorted()
	out := Page{Threads: make([]Thread, len(records)), More: more}
	for i, record := range records {
		t, err := decode(record)
		if err != nil {
			return Page{}, err
		}
		out.Threads[i] = t
	}
	return out, nil
}

func (f Filter) check() error {
	if f.Status != "" && !known(f.Status) {
		return oneOf("status", string(f.Status), names(Statuses()))
	}
	if f.Kind != "" {
		if err := oneOf("kind", f.Kind, Kinds()); err != nil {
			return err
		}
	}
	if f.Executor != "" {
		if err := oneOf("executor", f.Executor, Executors()); err != nil {
			return err
		}
	}
	return nil
}

func olderThan(r storage.Reader, id string) (func(storage.Record) bool, error) {
	if id == "" {
		return before(nil), nil
	}
	t, err := Find(r, id)
	return before(&storage.Record{Seq: t.Seq, Key: key(t.ID)}), err
}

// before returns what tells the records that are listed before limit; nil
// stands for the end of the list.
func before(limit *storage.Record) func(storage.Record) bool {
	return func(record storage.Record) bool { return limit == nil || byRecency(record, *limit) < 0 }
}

// matcher returns the filter as a function. A member with a plain value
// stands in the text of a record exactly as `"name":"value"`, and nowhere
// else, since quotes inside a string are escaped. A text with \u may spell
// it otherwise, and tags are a list: then the record is decoded.
func (f Filter) matcher() func(storage.Record) (bool, error) {
	var present [][]byte
	for _, member := range [][2]string{{"status", string(f.Status)}, {"kind", f.Kind}, {"objectiveId", f.ObjectiveID}, {"parentId", f.ParentID}, {"executor", f.Executor}} {
		if member[1] != "" {
			present = append(present, []byte(`"`+member[0]+`":"`+member[1]+`"`))
		}
	}
	hidden := f.Status == "" && !f.All
	archived := []byte(`"status":"` + string(Archived) + `"`)
	return func(record storage.Record) (bool, error) {
		if f.Tag != "" || bytes.Contains(record.Value, []byte(`\u`)) {
			t, err := decode(record)
			return err == nil && f.takes(t), err
		}
		for _, text := range present {
			if !bytes.Contains(record.Value, text) {
				return false, nil
			}
		}
		return !hidden || !bytes.Contains(record.Value, archived), nil
	}
}

func (f Filter) takes(t Thread) bool {
	same := func(wanted, is string) bool { return wanted == "" || wanted == is }
	return (f.All || f.Status == Archived || t.Status != Archived) &&
		same(string(f.Status), string(t.Status)) && same(f.Kind, t.Kind) &&
		same(f.ObjectiveID, t.ObjectiveID) && same(f.ParentID, t.ParentID) && same(f.Executor, t.Executor) &&
		(f.Tag == "" || slices.Contains(t.Tags, f.Tag))
}

// byRecency orders records by the operation that wrote them last, and those
// of one operation from the last id to the first: records are read in the
// order of ids, so that of many written at once the first ones read stay.
func byRecency(a, b storage.Record) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(b.Key, a.Key))
}

// latest keeps the most recent records: limit of them, and one more that
// tells that there are more. It is a heap with the oldest on top.
type latest struct {
	limit   int
	records []storage.Record
}

const defaultLimit = 50

func newLatest(limit int) (*latest, error) {
	if limit < 0 {
		return nil, usage("a limit is 1 or more")
	}
	return &latest{limit: cmp.Or(limit, defaultLimit)}, nil
}

func (l *latest) wants(r storage.Record) bool {
	return len(l.records) <= l.limit || byRecency(r, l.records[0]) > 0
}

func (l *latest) add(r storage.Record) {
	heap.Push(l, r)
	if len(l.records) > l.limit+1 {
		heap.Pop(l)
	}
}

// sorted returns the records, the latest last, and whether there were more.
func (l *latest) sorted() (records []storage.Record, more bool) {
	slices.SortFunc(l.records, byRecency)
	if len(l.records) <= l.limit {
		return l.records, false
	}
	return l.records[1:], true
}

// Len, Less, Swap, Push and Pop are what container/heap asks for.
func (l *latest) Len() int           { return len(l.records) }
func (l *latest) Less(i, j int) bool { return byRecency(l.records[i], l.records[j]) < 0 }
func (l *latest) Swap(i, j int)      { l.records[i], l.records[j] = l.records[j], l.records[i] }
func (l *latest) Push(x any)         { l.records = append(l.records, x.(storage.Record)) }
func (l *latest) Pop() any {
	last := l.records[len(l.records)-1]
	l.records = l.records[:len(l.records)-1]
	return last
}
