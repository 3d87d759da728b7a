package refs

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
	"github.com/leslie-sh/leslie/storage/objects"
)

// fataler is what *testing.T and *rapid.T have in common.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

// room is a real store in which a test works. When the test ends, every
// invariant must hold.
type room struct {
	t     fataler
	store *storage.Store
	path  string
	now   time.Time
}

func newRoom(t *testing.T) *room {
	t.Helper()
	r := open(t, t.TempDir())
	t.Cleanup(func() {
		if !t.Failed() {
			r.close()
		}
	})
	return r
}

func open(t fataler, dir string) *room {
	r := &room{t: t, path: filepath.Join(dir, ".leslie"), now: time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)}
	options := storage.Options{Now: func() time.Time { r.now = r.now.Add(time.Second); return r.now }}
	if _, err := storage.Init(context.Background(), r.path, options); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.store, err = storage.Open(r.path, options); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *room) close() {
	for _, f := range r.findings() {
		r.t.Errorf("left behind: %s: %s", f.Subject, f.Message)
	}
	r.store.Close()
}

func (r *room) findings() (all []storage.Finding) {
	r.view(func(v *storage.View) error {
		for _, check := range []func(storage.Reader) ([]storage.Check, error){Check, objects.Check} {
			checks, err := check(v)
			if err != nil {
				return err
			}
			for _, c := range checks {
				all = append(all, c.Findings...)
			}
		}
		return nil
	})
	return all
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

// threads makes the records of threads, as far as this room looks at them.
func (r *room) threads(ids ...string) {
	r.t.Helper()
	_, err := r.update(func(tx *storage.Tx) error {
		for _, id := range ids {
			if _, err := tx.Put(threadKey(id), map[string]string{"id": id, "status": "active"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) archive(id string) {
	r.t.Helper()
	if _, err := r.update(func(tx *storage.Tx) error {
		_, err := tx.Put(threadKey(id), map[string]string{"id": id, "status": archived})
		return err
	}); err != nil {
		r.t.Fatal(err)
	}
}

// file is where an artifact is on disk.
func (r *room) file(thread, path string) string {
	return filepath.Join(r.path, objects.ArtifactsDir(thread), path)
}

func (r *room) write(thread, path, content string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.file(thread, path)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.file(thread, path), []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) tryAdd(from, target string, b Binding, scopes ...string) (added Added, warnings errcodes.Warnings, err error) {
	warnings, err = r.update(func(tx *storage.Tx) (err error) { added, err = Add(tx, from, target, scopes, b); return err })
	return added, warnings, err
}

// add makes a reference that must succeed without a warning.
func (r *room) add(from, target string, b Binding, scopes ...string) Added {
	r.t.Helper()
	added, warnings, err := r.tryAdd(from, target, b, scopes...)
	if err != nil || len(warnings) > 0 {
		r.t.Fatal(err, warnings)
	}
	return added
}

func (r *room) refresh(id string) (added Added, warnings errcodes.Warnings, err error) {
	warnings, err = r.update(func(tx *storage.Tx) (err error) { added, err = Refresh(tx, id); return err })
	return added, warnings, err
}

// resolved returns the bytes that a path of a reference leads to.
func (r *room) resolved(id, path string) (content string, err error) {
	r.view(func(v *storage.View) error {
		var at Resolved
		if at, err = Resolve(v, id, path); err == nil {
			var bytes []byte
			bytes, err = os.ReadFile(filepath.Join(r.path, at.File))
			content = string(bytes)
			if at.SHA256 != objects.Hash(bytes) || at.Bytes != int64(len(bytes)) || at.Path != path || at.Reference.ID != id {
				r.t.Errorf("%+v does not describe %q", at, content)
			}
		}
		return nil
	})
	return content, err
}

func (r *room) files(ref Reference) (list []File, err error) {
	r.view(func(v *storage.View) error { list, err = Files(v, ref); return nil })
	return list, err
}

func wantCode(t fataler, err error, code errcodes.Code, pairs ...any) {
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
