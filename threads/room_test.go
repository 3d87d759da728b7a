package threads

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

// room is a real store in which a test works. When the test ends, every
// invariant must hold.
type room struct {
	t     *testing.T
	store *storage.Store
	path  string
	now   time.Time
}

func newRoom(t *testing.T) *room {
	t.Helper()
	r := &room{t: t, path: filepath.Join(t.TempDir(), ".leslie"), now: time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)}
	options := storage.Options{Now: func() time.Time { r.now = r.now.Add(time.Second); return r.now }}
	if _, err := storage.Init(context.Background(), r.path, options); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.store, err = storage.Open(r.path, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range r.findings() {
			if !t.Failed() {
				t.Errorf("left behind: %s: %s", f.Subject, f.Message)
			}
		}
		r.store.Close()
	})
	return r
}

func (r *room) update(change func(tx *storage.Tx) error) (errcodes.Warnings, error) {
	_, warnings, err := r.store.Update(context.Background(), storage.Operation{Name: "test", Operator: "user", Actor: "ann"}, change)
	return warnings, err
}

func (r *room) view(read func(v *storage.View) error) {
	r.t.Helper()
	if _, err := r.store.View(context.Background(), read); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) findings() (all []storage.Finding) {
	r.t.Helper()
	r.view(func(v *storage.View) error {
		checks, err := Check(v)
		for _, check := range checks {
			all = append(all, check.Findings...)
		}
		return err
	})
	return all
}

// spawn makes a thread that must succeed.
func (r *room) spawn(s Spawn) Spawned {
	r.t.Helper()
	spawned, _, err := r.trySpawn(s)
	if err != nil {
		r.t.Fatal(err)
	}
	return spawned
}

func (r *room) trySpawn(s Spawn) (spawned Spawned, warnings errcodes.Warnings, err error) {
	if s.Intent == "" {
		s.Intent = "do it"
	}
	warnings, err = r.update(func(tx *storage.Tx) (err error) { spawned, err = New(tx, s); return err })
	return spawned, warnings, err
}

func (r *room) change(id string, a Action) (changed Changed, warnings errcodes.Warnings, err error) {
	warnings, err = r.update(func(tx *storage.Tx) (err error) { changed, err = Change(tx, id, a, "because"); return err })
	return changed, warnings, err
}

// force puts a thread in a state, past the table.
func (r *room) force(id string, s Status) {
	r.t.Helper()
	_, err := r.update(func(tx *storage.Tx) error {
		t, err := Find(tx, id)
		if err != nil {
			return err
		}
		t.Status = s
		_, err = save(tx, t)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) find(id string) (t Thread) {
	r.t.Helper()
	r.view(func(v *storage.View) (err error) { t, err = Find(v, id); return err })
	return t
}

func (r *room) put(id, path, content string) (a Artifact, t Thread, err error) {
	_, err = r.update(func(tx *storage.Tx) (err error) { a, t, err = PutArtifact(tx, id, path, []byte(content)); return err })
	return a, t, err
}

func (r *room) remove(id, path string) (a Artifact, err error) {
	_, err = r.update(func(tx *storage.Tx) (err error) { a, _, err = RemoveArtifact(tx, id, path); return err })
	return a, err
}

func (r *room) read(id, path string) (content string, err error) {
	r.store.View(context.Background(), func(v *storage.View) error {
		var bytes []byte
		_, bytes, err = ReadArtifact(v, id, path)
		content = string(bytes)
		return nil
	})
	return content, err
}

// file is where an artifact is on disk.
func (r *room) file(id, path string) string {
	return filepath.Join(r.path, ArtifactsDir(id), path)
}

func (r *room) plant(id, path, content string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.file(id, path)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.file(id, path), []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// wantCode fails the test unless err is code, with these details.
func wantCode(t *testing.T, err error, code errcodes.Code, pairs ...any) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		name, want := pairs[i].(string), pairs[i+1]
		got := errcodes.Of(err).Detail(name)
		list, isList := want.([]string)
		if gotList, ok := got.([]string); isList && (!ok || !slices.Equal(gotList, list)) || !isList && got != want {
			t.Errorf("%s has %s = %v, want %v", code, name, got, want)
		}
	}
}

func codes(ws errcodes.Warnings) (list []errcodes.Code) {
	for _, w := range ws {
		list = append(list, w.Code)
	}
	return list
}
