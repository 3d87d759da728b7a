package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/leslie-sh/leslie/errcodes"
)

var ctx = context.Background()

type item struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
}

func newStore(t testing.TB) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".leslie")
	created, err := Init(ctx, dir, Options{})
	if err != nil || !created {
		t.Fatalf("Init: %v %v", created, err)
	}
	return open(t, dir)
}

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func put(t testing.TB, s *Store, key string, value any) (Commit, errcodes.Warnings) {
	t.Helper()
	commit, warnings, err := s.Update(ctx, Operation{Name: "put"}, func(tx *Tx) error {
		_, err := tx.Put(key, value)
		return err
	})
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return commit, warnings
}

// contents returns every record, as key to JSON with revision.
func contents(t testing.TB, s *Store) (map[string]string, errcodes.Warnings) {
	t.Helper()
	all := map[string]string{}
	warnings, err := s.View(ctx, func(v *View) error {
		clear(all)
		for record, err := range v.Scan("") {
			if err != nil {
				return err
			}
			all[record.Key] = fmt.Sprintf("%s r%d", record.Value, record.Revision)
		}
		for key, want := range all {
			record, found, err := v.Get(key)
			if err != nil {
				return err
			}
			if got := fmt.Sprintf("%s r%d", record.Value, record.Revision); !found || got != want {
				return fmt.Errorf("Get %s gives %q, Scan %q", key, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("reading: %v", err)
	}
	return all, warnings
}

func (s *Store) write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.path, path), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *Store) file(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.path, path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestInitOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".leslie")
	var group sync.WaitGroup
	made := make(chan bool, 16)
	for range 16 {
		group.Go(func() {
			created, err := Init(ctx, dir, Options{})
			if err != nil {
				t.Errorf("%v %#v", err, err)
			}
			made <- created
		})
	}
	group.Wait()
	close(made)
	count := 0
	for created := range made {
		if created {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d of 16 made the store, want 1", count)
	}
	if ignore, _ := os.ReadFile(filepath.Join(dir, ".gitignore")); string(ignore) != "*\n" {
		t.Errorf(".gitignore holds %q", ignore)
	}
	s := open(t, dir)
	put(t, s, "a/1", item{Name: "kept"})
	if created, err := Init(ctx, dir, Options{}); created || err != nil {
		t.Errorf("second Init: %v %v", created, err)
	}
	if all, _ := contents(t, s); all["a/1"] != `{"name":"kept"} r1` {
		t.Errorf("second Init changed the store: %v", all)
	}
	verify(t, s)
}

func TestStateFileIsJSONWithOneRecordALine(t *testing.T) {
	s := newStore(t)
	for _, key := range []string{"b/2", "a/1", "c/3"} {
		put(t, s, key, item{Name: key + " <&> \u2028 ü"})
	}
	data := s.file(t, statePath)
	var file struct {
		Version, Seq, Generation, Count int
		Sorted                          bool
		Records                         map[string]item
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, data)
	}
	if file.Version != 1 || file.Seq != 3 || file.Generation != 1 || file.Count != 3 || !file.Sorted || len(file.Records) != 3 {
		t.Errorf("header %+v", file)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, key := range []string{"a/1", "b/2", "c/3"} {
		if !strings.HasPrefix(lines[i+1], `"`+key+`":{"name":"`+key) {
			t.Errorf("line %d is %s", i+1, lines[i+1])
		}
	}
	if _, err := readFrameAt(s, backupPath); err != nil {
		t.Errorf("backup: %v", err)
	}
	verify(t, s)
}

// verify is the consistency check with which every test of the store ends.
func verify(t testing.TB, s *Store) {
	t.Helper()
	checks, err := s.Check()
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	for _, check := range checks {
		for _, found := range check.Findings {
			t.Errorf("%s: %s: %s", check.Name, found.Subject, found.Message)
		}
		for _, note := range check.Notes {
			t.Errorf("%s: %s", check.Name, note)
		}
	}
}

func TestUnknownMembersAreKept(t *testing.T) {
	s := newStore(t)
	put(t, s, "a/1", map[string]any{"name": "old", "future": map[string]int{"x": 1}})
	put(t, s, "a/1", item{Name: "new"})
	if all, _ := contents(t, s); all["a/1"] != `{"name":"new","future":{"x":1}} r2` {
		t.Errorf("got %v", all)
	}
}

func TestFailedUpdateLeavesNothing(t *testing.T) {
	s := newStore(t)
	put(t, s, "a/1", item{Name: "one"})
	before := s.file(t, generationPath(1))
	_, warnings, err := s.Update(ctx, Operation{Name: "bad"}, func(tx *Tx) error {
		tx.Put("a/1", item{Name: "two"})
		tx.Warn(errcodes.ChildrenOpen.Warn("count", 1))
		return errcodes.ThreadNotFound.With("threadId", "x")
	})
	if !errors.Is(err, errcodes.ThreadNotFound) || len(warnings) != 1 {
		t.Errorf("got %v %v", err, warnings)
	}
	if string(before) != string(s.file(t, generationPath(1))) {
		t.Error("the log has grown")
	}
	verify(t, s)
}

func TestUpdateThatChangesNothingIsNotLogged(t *testing.T) {
	s := newStore(t)
	commit, _, err := s.Update(ctx, Operation{Name: "look"}, func(tx *Tx) error { return nil })
	if err != nil || commit.OperationID != "" || commit.Seq != 0 {
		t.Errorf("got %+v %v", commit, err)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	s := newStore(t)
	s.options.DryRun = true
	commit, _, err := s.Update(ctx, Operation{Name: "try"}, func(tx *Tx) error {
		if record, err := tx.Put("a/1", item{Name: "x"}); err != nil || record.Revision != 1 {
			t.Errorf("Put: %+v %v", record, err)
		}
		return nil
	})
	if all, _ := contents(t, s); err != nil || commit.OperationID != "" || len(all) != 0 {
		t.Errorf("%+v %v %v", commit, err, all)
	}
}

// TestModel compares the store with a map, through small and large states,
// reopened at random.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newStore(t)
		model := map[string]string{}
		revisions := map[string]int{}
		keys := rapid.SampledFrom([]string{"a/1", "a/2", "a/22", "b/1", "b/x", "c/1"})
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			_, _, err := s.Update(ctx, Operation{Name: "step"}, func(tx *Tx) error {
				for range rapid.IntRange(1, 4).Draw(rt, "changes") {
					key := keys.Draw(rt, "key")
					if rapid.IntRange(0, 3).Draw(rt, "kind") == 0 {
						if err := tx.Delete(key); err != nil {
							return err
						}
						delete(model, key)
						delete(revisions, key)
						continue
					}
					name := rapid.String().Draw(rt, "name")
					record, err := tx.Put(key, item{Name: name})
					if err != nil {
						return err
					}
					revisions[key] = int(record.Revision)
					model[key] = fmt.Sprintf("%s r%d", record.Value, record.Revision)
				}
				return nil
			})
			if err != nil {
				rt.Fatal(err)
			}
			got, warnings := contents(t, s)
			if !maps.Equal(got, model) || len(warnings) > 0 {
				rt.Fatalf("store holds %v, want %v (%v)", got, model, warnings)
			}
		}
		verify(t, s)
	})
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	s := newStore(t)
	var group sync.WaitGroup
	for writer := range 12 {
		group.Go(func() {
			mine := open(t, s.path)
			for n := range 10 {
				_, _, err := mine.Update(ctx, Operation{Name: "add"}, func(tx *Tx) error {
					record, _, err := tx.Get("counter/1")
					if err != nil {
						return err
					}
					var count struct{ N int }
					if record.Key != "" {
						if err := record.Decode(&count); err != nil {
							return err
						}
					}
					count.N++
					if _, err := tx.Put("counter/1", count); err != nil {
						return err
					}
					_, err = tx.Put(fmt.Sprintf("w/%d-%d", writer, n), item{Name: "x"})
					return err
				})
				if err != nil {
					t.Errorf("%v %#v", err, err)
				}
			}
		})
	}
	group.Wait()
	all, _ := contents(t, s)
	if len(all) != 121 || all["counter/1"] != `{"N":120} r120` {
		t.Errorf("%d records, counter %s", len(all), all["counter/1"])
	}
	verify(t, s)
}

// TestReadersSeeNoFalseDamage reads without a lock while others write: every
// state is one that was, none older than the one before, and nothing is told as damaged.
func TestReadersSeeNoFalseDamage(t *testing.T) {
	for name, fill := range map[string]func(testing.TB, *Store){"small": func(testing.TB, *Store) {}, "large": large} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			fill(t, s)
			put(t, s, "a/1", item{Name: "0"})
			put(t, s, "z/1", item{Name: "0"})
			done := make(chan struct{})
			var group sync.WaitGroup
			group.Go(func() {
				defer close(done)
				for n := 1; n <= 150; n++ {
					_, _, err := s.Update(ctx, Operation{Name: "both"}, func(tx *Tx) error {
						value := item{Name: fmt.Sprint(n), Note: strings.Repeat("x", n*7)}
						if _, err := tx.Put("a/1", value); err != nil {
							return err
						}
						_, err := tx.Put("z/1", value)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
			for range 3 {
				group.Go(func() { readPairs(t, open(t, s.path), done) })
			}
			group.Wait()
			verify(t, s)
		})
	}
}

// readPairs reads two records that are always written together, until done.
func readPairs(t *testing.T, s *Store, done <-chan struct{}) {
	last := int64(0)
	for {
		select {
		case <-done:
			return
		default:
		}
		warnings, err := s.View(ctx, func(v *View) error {
			a, _, err := v.Get("a/1")
			if err != nil {
				return err
			}
			z, _, err := v.Get("z/1")
			if string(a.Value) != string(z.Value) || a.Revision < last {
				t.Errorf("read %d and %d after %d", a.Revision, z.Revision, last)
			}
			last = a.Revision
			return err
		})
		if err != nil || len(warnings) > 0 {
			t.Errorf("reading: %v %v", err, warnings)
		}
	}
}

// large fills the store beyond the size up to which the state is rewritten each time.
func large(t testing.TB, s *Store) {
	t.Helper()
	note := strings.Repeat("n", 900)
	_, _, err := s.Update(ctx, Operation{Name: "fill"}, func(tx *Tx) error {
		for n := range 1500 {
			if _, err := tx.Put(fmt.Sprintf("thread/%05d", n), item{Name: "t", Note: note}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLargeStateIsNotRewrittenEachTime(t *testing.T) {
	s := newStore(t)
	large(t, s)
	before := s.file(t, statePath)
	put(t, s, "thread/00700", item{Name: "changed"})
	put(t, s, "thread/00700x", item{Name: "new"})
	if string(before) != string(s.file(t, statePath)) {
		t.Fatal("the state file was rewritten")
	}
	all, warnings := contents(t, s)
	if len(all) != 1501 || all["thread/00700"] != `{"name":"changed"} r2` || len(warnings) > 0 {
		t.Errorf("%d records, %s, %v", len(all), all["thread/00700"], warnings)
	}
	for n := range 400 {
		put(t, s, fmt.Sprintf("thread/%05d", n), item{Name: "t", Note: strings.Repeat("m", 900)})
	}
	h, err := readFrameAt(s, statePath)
	if err != nil || h.Generation < 2 || h.Count != 1501 {
		t.Errorf("after 400 writes: %+v %v; want another generation", h, err)
	}
	verify(t, s)
}

func TestOperations(t *testing.T) {
	s := newStore(t)
	var ids []string
	for n := range 700 {
		commit, _ := put(t, s, fmt.Sprintf("thread/t%d", n%3), item{Name: strings.Repeat("x", 500)})
		ids = append(ids, commit.OperationID)
	}
	if numbers, _ := generations(s.disk.Root); len(numbers) < 2 {
		t.Fatalf("generations %v: the log was not rotated", numbers)
	}
	list, more, _, err := s.Operations(Query{Limit: 5})
	if err != nil || !more || len(list) != 5 || list[4].OperationID != ids[699] || list[0].OperationID != ids[695] {
		t.Errorf("latest five: %v %v %v", list, more, err)
	}
	list, more, _, err = s.Operations(Query{Since: ids[300]})
	if err != nil || more || len(list) != 399 || list[0].OperationID != ids[301] {
		t.Errorf("since: %d %v %v", len(list), more, err)
	}
	list, _, _, err = s.Operations(Query{Of: "t1", Since: ids[600]})
	if err != nil || len(list) != 33 || !slices.Equal(list[0].Keys, []string{"thread/t1"}) {
		t.Errorf("of: %d %v", len(list), err)
	}
	for _, c := range []struct {
		query       Query
		first, last int // what is listed, of ids; -1 for nothing
		more        bool
	}{
		{Query{Before: ids[695], Limit: 5}, 690, 694, true},
		{Query{Before: ids[5], Limit: 5}, 0, 4, false},
		{Query{Before: ids[0], Limit: 5}, -1, -1, false},
		{Query{Before: ids[300], Since: ids[200]}, 201, 299, false},
		{Query{Before: ids[300], Since: ids[200], Limit: 2}, 298, 299, true},
		{Query{Before: ids[200], Since: ids[300]}, -1, -1, false},
		{Query{Before: ids[300], Since: ids[300]}, -1, -1, false},
	} {
		list, more, _, err := s.Operations(c.query)
		first, last := -1, -1
		if len(list) > 0 {
			first, last = slices.Index(ids, list[0].OperationID), slices.Index(ids, list[len(list)-1].OperationID)
		}
		if err != nil || more != c.more || first != c.first || last != c.last {
			t.Errorf("%+v: %d to %d, %v, %v", c.query, first, last, more, err)
		}
	}
	for _, unknown := range []Query{{Since: "op-none"}, {Before: "op-none"}, {Before: "op-none", Since: ids[3]}, {Before: ids[3], Since: "op-none"}, {Before: "op-none", Limit: 1}} {
		_, _, _, err := s.Operations(unknown)
		if !errors.Is(err, errcodes.OperationNotFound) || errcodes.Of(err).Detail("operationId") != "op-none" {
			t.Errorf("%+v: %v", unknown, err)
		}
	}
	verify(t, s)
}
