package storage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A scene is a store at rest whose whole past is known: its files, what they
// were after every operation, and what the store held then.
type scene struct {
	name  string
	files map[string][]byte
	past  []moment // by operation
	plain string   // what the doctor says of it
	worn  string   // a file that is damaged already, and not needed any more
}

// moment is a store after one operation.
type moment struct {
	files map[string][]byte
	held  map[string]string // record and revision by key
}

func (s *scene) last() int64 { return int64(len(s.past) - 1) }

// logs lists the files of the log, the current one last.
func (s *scene) logs() []string {
	var found []string
	for path := range s.files {
		if strings.HasPrefix(path, opsPath) {
			found = append(found, path)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return found
}

func (s *scene) currentLog() string { return s.logs()[len(s.logs())-1] }

// unsynced are the options of a store whose writes need not outlive a crash.
func unsynced() Options {
	var count int64
	return Options{
		Intercept: func(change *Change, do func() error) error {
			if change.Call == "sync" {
				return nil
			}
			return do()
		},
		NewID: func() string {
			count++
			return fmt.Sprintf("%013d", count)
		},
		Now: func() time.Time { return time.Date(2026, 3, 1, 9, 0, int(count), 0, time.UTC) },
	}
}

// author lets a store have a past and keeps it.
type author struct {
	testing.TB
	store *Store
	past  []moment
}

func newAuthor(t testing.TB) *author {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	if _, err := Init(ctx, dir, unsynced()); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, unsynced())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	a := &author{TB: t, store: s}
	a.remember()
	return a
}

func (a *author) remember() {
	held, err := readWhole(a.store)
	if err != nil {
		a.Fatal(err)
	}
	a.past = append(a.past, moment{filesOf(a, a.store.path), held})
}

func (a *author) does(name string, change func(tx *Tx) error) {
	a.Helper()
	commit, _, err := a.store.Update(ctx, Operation{Name: name, Operator: "agent", Actor: "root"}, change)
	if err != nil {
		a.Fatalf("%s: %v", name, err)
	}
	for commit.Seq > int64(len(a.past)) { // a checkpoint came before it, which changes nothing
		a.past = append(a.past, a.past[len(a.past)-1])
	}
	a.remember()
}

func (a *author) scene(name string) *scene {
	s := &scene{name: name, files: maps.Clone(a.past[len(a.past)-1].files), past: slices.Clone(a.past)}
	return s
}

// work is a thread as the room of threads keeps it.
type work struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Title     string    `json:"title"`
	Intent    string    `json:"intent"`
	Objective string    `json:"objectiveId"`
	Parent    string    `json:"parentId,omitempty"`
	Status    string    `json:"status"`
	Executor  string    `json:"executor"`
	Tags      []string  `json:"tags"`
	Inherit   string    `json:"inherit"`
	CreatedBy string    `json:"createdBy"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

type edge struct {
	From   string `json:"from,omitempty"`
	Target string `json:"target,omitempty"`
}

func workID(n int) string { return fmt.Sprintf("thread-%013d", n*7919) }

// spawns makes thread n with its objective or parent and a reference, in one operation.
func (a *author) spawns(n int, more string) {
	a.Helper()
	a.does("spawn", func(tx *Tx) error {
		w := work{ID: workID(n), Kind: "work", Title: fmt.Sprintf("Part %d of the parser", n), Intent: fmt.Sprintf("Write part %d of the parser, \"quoted\" and with ünïcode%s", n, more),
			Objective: "obj-default", Status: "active", Executor: "agent", Tags: []string{"parser"}, Inherit: "none", CreatedBy: "root", CreatedAt: tx.Now(), UpdatedAt: tx.Now()}
		records := map[string]any{"thread/" + w.ID: &w, "objective/obj-default": map[string]any{"id": "obj-default", "title": "Default objective", "threads": n}}
		if n%3 == 2 {
			w.Parent = workID(n - 1)
			records["child/"+w.Parent+"/"+w.ID] = struct{}{}
		}
		if n%5 == 4 {
			records["refFrom/"+w.ID+"/ref-1"] = edge{Target: workID(n - 2)}
			records["refTarget/"+workID(n-2)+"/ref-1"] = edge{From: w.ID}
		}
		return putAll(tx, records)
	})
}

func putAll(tx *Tx, records map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(records)) {
		if _, err := tx.Put(key, records[key]); err != nil {
			return err
		}
	}
	return nil
}

// changes lets n further operations follow: threads are changed, and references come and go.
func (a *author) changes(n int) {
	a.Helper()
	for range n {
		at := len(a.past)
		a.does("update", func(tx *Tx) error {
			key := "thread/" + workID(at%50)
			record, _, err := tx.Get(key)
			if err != nil {
				return err
			}
			var w work
			if err := record.Decode(&w); err != nil {
				return err
			}
			w.Status, w.UpdatedAt = fmt.Sprintf("state %d", at), tx.Now()
			if at%4 == 0 {
				_, err = tx.Put("refFrom/ref-extra", edge{Target: w.ID})
			} else {
				err = tx.Delete("refFrom/ref-extra")
			}
			return errors.Join(err, putAll(tx, map[string]any{key: w}))
		})
	}
}

// fills lets the log grow until it begins a new file.
func (a *author) fills() {
	a.Helper()
	for begun := a.scene("").currentLog(); a.scene("").currentLog() == begun; {
		a.does("note", func(tx *Tx) error {
			_, err := tx.Put("note/large", item{Name: "large", Note: strings.Repeat("lorem ipsum ", 8<<10)})
			return err
		})
		a.does("note", func(tx *Tx) error { return tx.Delete("note/large") })
	}
}

// scenes builds the stores that are damaged: one at rest, one whose log holds
// operations that its state file lacks, one whose log begins with a
// checkpoint, and one too large for the state file to follow each operation.
func scenes(t testing.TB) []*scene {
	t.Helper()
	a := newAuthor(t)
	for n := range 50 {
		a.spawns(n, "")
	}
	a.fills()
	a.changes(6)
	a.fills()
	a.changes(9)
	rest := a.scene("at rest")
	behind := a.scene("state behind")
	behind.files[statePath] = a.past[len(a.past)-4].files[statePath]
	behind.files[backupPath] = a.past[len(a.past)-5].files[backupPath]
	log := rest.currentLog()
	a.store.write(t, log, flip(rest.files[log], len(rest.files[log])/2))
	a.changes(7)
	checkpoint := a.scene("checkpoint")
	checkpoint.worn = log
	made := []*scene{rest, behind, checkpoint, largeScene(t)}
	for _, s := range made {
		s.settle(t)
	}
	return made
}

func largeScene(t testing.TB) *scene {
	t.Helper()
	a := newAuthor(t)
	for n := range 50 {
		a.spawns(n, strings.Repeat(" and more", 2700))
	}
	a.changes(3)
	return a.scene("large")
}

// settle checks that the scene is what it has to be before it is damaged.
func (s *scene) settle(t testing.TB) {
	t.Helper()
	b := newBench(t, s)
	held, err := readWhole(b.store)
	if err != nil || !maps.Equal(held, s.past[s.last()].held) {
		t.Fatalf("%s does not begin whole: %v", s.name, err)
	}
	s.plain = b.examination()
}

// readWhole reads every record in order, and then each by its key.
func readWhole(s *Store) (map[string]string, error) {
	held := map[string]string{}
	_, err := s.View(ctx, func(v *View) error { return readAll(v, held) })
	return held, err
}

func readAll(v *View, held map[string]string) error {
	clear(held)
	for record, err := range v.Scan("") {
		if err != nil {
			return err
		}
		held[record.Key] = rendered(record)
	}
	return nil
}

func rendered(r Record) string { return fmt.Sprintf("%s r%d s%d", r.Value, r.Revision, r.Seq) }

// filesOf reads every file below dir but the lock's own.
func filesOf(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || !entry.Type().IsRegular() || name == lockPath || name == holderPath {
			return err
		}
		data, err := os.ReadFile(path)
		found[filepath.ToSlash(name)] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sameJSON reports whether two files say the same in another form.
func sameJSON(a, b []byte) bool {
	var one, two bytes.Buffer
	return json.Compact(&one, a) == nil && json.Compact(&two, b) == nil && (bytes.Equal(one.Bytes(), two.Bytes()) || sameMembers(a, b))
}
