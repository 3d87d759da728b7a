package threads

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

func (r *room) list(f Filter) (page Page, err error) {
	r.view(func(v *storage.View) error { page, err = List(v, f); return nil })
	return page, err
}

func ids(p Page) (list []string) {
	for _, t := range p.Threads {
		list = append(list, t.ID)
	}
	return list
}

func TestListGivesTheLatestNewestLast(t *testing.T) {
	r := newRoom(t)
	for _, id := range []string{"c", "a", "d", "b"} {
		r.spawn(Spawn{ID: id})
	}
	r.change("a", Suspend)
	for _, c := range []struct {
		filter Filter
		want   string
		more   bool
	}{
		{Filter{}, "c d b a", false}, {Filter{Limit: 4}, "c d b a", false}, {Filter{Limit: 2}, "b a", true},
		{Filter{Limit: 2, Before: "b"}, "c d", false}, {Filter{Limit: 1, Before: "b"}, "d", true}, {Filter{Before: "c"}, "", false},
		{Filter{Status: Suspended}, "a", false}, {Filter{Status: Active, Limit: 1}, "b", true}, {Filter{Status: Failed}, "", false},
	} {
		page, err := r.list(c.filter)
		if got := strings.Join(ids(page), " "); err != nil || got != c.want || page.More != c.more || page.Threads == nil {
			t.Errorf("%+v gives %q, %v, %v; want %q, %v", c.filter, got, page.More, err, c.want, c.more)
		}
	}
}

func TestListFilters(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "p", Executor: "human", Tags: []string{"ui", "größe"}})
	r.spawn(Spawn{ID: "k", ParentID: "p", Kind: "task", Intent: `"ui" "human" "archived"`})
	r.spawn(Spawn{ID: "gone", Tags: []string{"ui"}})
	r.force("gone", Archived)
	for want, f := range map[string]Filter{
		"p k gone": {All: true}, "gone": {Status: Archived}, "p": {Tag: "ui"}, "p gone": {Tag: "ui", All: true}, "k": {Kind: "task"},
		" k": {ParentID: "p"}, "  p": {Tag: "größe"}, "   p": {Executor: "human"}, "p k": {ObjectiveID: "obj-default"}, "": {ParentID: "k"},
	} {
		page, err := r.list(f)
		if got := strings.Join(ids(page), " "); err != nil || got != strings.TrimSpace(want) {
			t.Errorf("%+v gives %q, %v; want %q", f, got, err, want)
		}
	}
}

func TestAFilterReadsEverySpelling(t *testing.T) {
	matches := Filter{Tag: "ui", Status: Active}.matcher()
	for text, want := range map[string]bool{
		`{"id":"x","status":"active","tags":["ui"]}`: true, `{ "tags" : [ "a" , "\u0075i" ] , "status" : "active" }`: true,
		`{"status":"active","tags":["u"],"title":"\u0075"}`: false, `{"status":"failed","tags":["ui"],"title":"active"}`: false,
		`{"status":"active","tags":["uid"]}`: false,
	} {
		if matched, err := matches(storage.Record{Value: []byte(text)}); matched != want || err != nil {
			t.Errorf("%s: %v, %v", text, matched, err)
		}
	}
}

func TestListRefuses(t *testing.T) {
	r := newRoom(t)
	for _, f := range []Filter{{Limit: -1}, {Status: "busy"}, {Kind: "song"}, {Executor: "cat"}, {Before: "a/b"}} {
		_, err := r.list(f)
		wantCode(t, err, errcodes.Usage)
	}
	_, err := r.list(Filter{Before: "nobody"})
	wantCode(t, err, errcodes.ThreadNotFound)
}

// Pages taken one after another are the whole list, in order, also where many
// threads were made by one operation.
func TestPagesJoinWithoutGapOrOverlap(t *testing.T) {
	r := newRoom(t)
	var order []string
	for batch, size := range []int{1, 5, 2, 1, 6} {
		var made []string
		r.harm(func(tx *storage.Tx) error {
			for n := range size {
				id := fmt.Sprintf("t%d-%d", 9-n, batch)
				made = append(made, id)
				if _, err := New(tx, Spawn{ID: id, Intent: "x"}); err != nil {
					return err
				}
			}
			return nil
		})
		slices.Sort(made)
		slices.Reverse(made)
		order = append(order, made...)
	}
	for limit := 1; limit <= len(order)+1; limit++ {
		var joined []string
		for before, more := "", true; more; {
			page, err := r.list(Filter{Limit: limit, Before: before})
			if err != nil || len(page.Threads) == 0 {
				t.Fatalf("page before %q: %v, %v", before, page, err)
			}
			joined = append(ids(page), joined...)
			before, more = page.Threads[0].ID, page.More
		}
		if !slices.Equal(joined, order) {
			t.Errorf("pages of %d give %v, want %v", limit, joined, order)
		}
	}
}

func TestLatestKeepsWhatSortingWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		best, _ := newLatest(limit)
		var all []storage.Record
		for i, seq := range rapid.SliceOfN(rapid.Int64Range(1, 9), 0, 40).Draw(t, "seqs") {
			record := storage.Record{Seq: seq, Key: fmt.Sprint(i)}
			all = append(all, record)
			if best.wants(record) {
				best.add(record)
			}
		}
		slices.SortFunc(all, byRecency)
		got, more := best.sorted()
		if !reflect.DeepEqual(append([]storage.Record{}, got...), append([]storage.Record{}, all[max(0, len(all)-limit):]...)) || more != (len(all) > limit) {
			t.Fatalf("kept %v, more %v", got, more)
		}
	})
}

// crowd is a room with n threads in one operation after another, in ids that
// have nothing to do with their age.
func crowd(b *testing.B, n int) *storage.Store {
	path := filepath.Join(b.TempDir(), ".leslie")
	if _, err := storage.Init(b.Context(), path, storage.Options{}); err != nil {
		b.Fatal(err)
	}
	store, err := storage.Open(path, storage.Options{})
	if err != nil {
		b.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for from := 0; from < n; from += 1000 {
		_, _, err := store.Update(b.Context(), storage.Operation{Name: "test"}, func(tx *storage.Tx) error {
			for range min(1000, n-from) {
				id := tx.NewID("thread-")
				if _, err := save(tx, Thread{ID: id, Kind: "work", Title: "A title of some length for " + id, Intent: "An intent that says what is to be done",
					ObjectiveID: "obj-default", Status: Active, Executor: "agent", Tags: []string{"a"}, Inherit: "none", CreatedAt: at, UpdatedAt: at}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return store
}

func BenchmarkRoom(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		store := crowd(b, n)
		reads := map[string]func(v *storage.View) error{
			"List":    func(v *storage.View) error { _, err := List(v, Filter{}); return err },
			"Rare":    func(v *storage.View) error { _, err := List(v, Filter{Status: Failed}); return err },
			"Missing": func(v *storage.View) error { Find(v, "thread-aaaaaaaaaaaaa"); return nil },
		}
		for name, read := range reads {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := store.View(b.Context(), read); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
