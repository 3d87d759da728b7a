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
// order of ids. It fails with T903, and with T101 where Before is no thread.
//
// The store is read once, from one end to the other. A record is decoded only
// if it is recent enough to be on the page, which few are.
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
	matches := f.matcher()
	var found []Thread
	for record, err := range r.Scan(prefix) {
		if err != nil {
			return Page{}, err
		}
		place := rank{seq: record.Seq, key: record.Key, at: len(found)}
		if !older(place) || !best.wants(place) {
			continue
		}
		t, matched, err := matches(record)
		if err != nil {
			return Page{}, err
		}
		if matched {
			found = append(found, t)
			best.add(place)
		}
	}
	return page(found, best), nil
}

func page(found []Thread, best *latest) Page {
	ranks, more := best.sorted()
	out := Page{Threads: make([]Thread, len(ranks)), More: more}
	for i, rank := range ranks {
		out.Threads[i] = found[rank.at]
	}
	return out
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

func olderThan(r storage.Reader, id string) (func(rank) bool, error) {
	if id == "" {
		return func(rank) bool { return true }, nil
	}
	t, err := Find(r, id)
	if err != nil {
		return nil, err
	}
	limit := rank{seq: t.Seq, key: key(t.ID)}
	return func(place rank) bool { return place.compare(limit) < 0 }, nil
}

// matcher returns the filter as a function. Before it decodes a record it
// looks whether the words it needs are in its text at all; a text with \u
// may spell them otherwise and is always decoded.
func (f Filter) matcher() func(storage.Record) (Thread, bool, error) {
	var words [][]byte
	for _, word := range []string{string(f.Status), f.Kind, f.ObjectiveID, f.ParentID, f.Tag, f.Executor} {
		if word != "" {
			words = append(words, []byte(`"`+word+`"`))
		}
	}
	return func(record storage.Record) (Thread, bool, error) {
		for _, word := range words {
			if !bytes.Contains(record.Value, word) && !bytes.Contains(record.Value, []byte(`\u`)) {
				return Thread{}, false, nil
			}
		}
		t, err := decode(record)
		return t, err == nil && f.takes(t), err
	}
}

func (f Filter) takes(t Thread) bool {
	same := func(wanted, is string) bool { return wanted == "" || wanted == is }
	return (f.All || f.Status == Archived || t.Status != Archived) &&
		same(string(f.Status), string(t.Status)) && same(f.Kind, t.Kind) &&
		same(f.ObjectiveID, t.ObjectiveID) && same(f.ParentID, t.ParentID) && same(f.Executor, t.Executor) &&
		(f.Tag == "" || slices.Contains(t.Tags, f.Tag))
}

// rank is the place of a record in the order of recency; at is where the
// caller put what it decoded.
type rank struct {
	seq int64
	key string
	at  int
}

func (a rank) compare(b rank) int {
	return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.key, b.key))
}

// latest keeps the ranks that are highest: limit of them, and one more that
// tells that there are more. It is a heap with the lowest on top.
type latest struct {
	limit int
	ranks []rank
}

const defaultLimit = 50

func newLatest(limit int) (*latest, error) {
	if limit < 0 {
		return nil, usage("a limit is 1 or more")
	}
	return &latest{limit: cmp.Or(limit, defaultLimit)}, nil
}

func (l *latest) wants(r rank) bool {
	return len(l.ranks) <= l.limit || r.compare(l.ranks[0]) > 0
}

func (l *latest) add(r rank) {
	heap.Push(l, r)
	if len(l.ranks) > l.limit+1 {
		heap.Pop(l)
	}
}

// sorted returns the ranks, the highest last, and whether there were more.
func (l *latest) sorted() (ranks []rank, more bool) {
	slices.SortFunc(l.ranks, rank.compare)
	if len(l.ranks) <= l.limit {
		return l.ranks, false
	}
	return l.ranks[1:], true
}

// Len, Less, Swap, Push and Pop are what container/heap asks for.
func (l *latest) Len() int           { return len(l.ranks) }
func (l *latest) Less(i, j int) bool { return l.ranks[i].compare(l.ranks[j]) < 0 }
func (l *latest) Swap(i, j int)      { l.ranks[i], l.ranks[j] = l.ranks[j], l.ranks[i] }
func (l *latest) Push(x any)         { l.ranks = append(l.ranks, x.(rank)) }
func (l *latest) Pop() any {
	last := l.ranks[len(l.ranks)-1]
	l.ranks = l.ranks[:len(l.ranks)-1]
	return last
}
