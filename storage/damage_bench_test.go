package storage

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
)

// bench is a directory in which one trial after the other is made.
type bench struct {
	testing.TB
	*scene
	store *Store
}

func newBench(t testing.TB, s *scene) *bench {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	store, err := Open(dir, unsynced())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	b := &bench{t, s, store}
	b.renew()
	return b
}

// renew gives the directory the files of the scene, and no others.
func (b *bench) renew() {
	entries, err := os.ReadDir(b.store.path)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(b.store.path, entry.Name())))
	}
	err = errors.Join(err, os.Mkdir(filepath.Join(b.store.path, opsPath), 0o755))
	for path, data := range b.files {
		b.lay(path, data)
	}
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) lay(path string, data []byte) {
	if data == nil {
		b.store.remove(b, path)
		return
	}
	b.store.write(b, path, data)
}

// try makes one trial and says how it ended, and what was not right.
func (b *bench) try(tr trial) (class, problem string) {
	defer func() {
		if r := recover(); r != nil {
			class, problem = panicked, fmt.Sprint(r)
			b.renew()
		}
	}()
	for path, data := range tr.files {
		b.lay(path, data)
	}
	before := b.stamps()
	held, warnings, err := b.reads()
	if class, problem = b.judge(tr, held, warnings, err); problem == "" && tr.deeply {
		problem = b.looks(tr, class, held)
	}
	if problem != "" {
		class = wrong
	}
	if after := b.stamps(); problem == "" && after != before {
		class, problem = overwritten, "a reader has changed the files: "+before+after
	}
	if problem == "" && tr.deeply {
		if class, problem = b.goesOn(tr, class, held); problem != "" && class != overwritten {
			class = wrong
		}
	}
	if tr.deeply {
		b.renew()
		return class, problem
	}
	for path := range tr.files {
		b.lay(path, b.files[path])
	}
	return class, problem
}

// stamps tells the files apart from any that were written since.
func (b *bench) stamps() string {
	var text strings.Builder
	for _, dir := range []string{".", opsPath} {
		entries, _ := os.ReadDir(filepath.Join(b.store.path, dir))
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				b.Fatal(err)
			}
			fmt.Fprintln(&text, entry.Name(), info.Size(), info.ModTime())
		}
	}
	return text.String()
}

func (b *bench) reads() (map[string]string, errcodes.Warnings, error) {
	held := map[string]string{}
	warnings, err := b.store.View(ctx, func(v *View) error { return readAll(v, held) })
	return held, warnings, err
}

// judge says what became of reading everything.
func (b *bench) judge(tr trial, held map[string]string, warnings errcodes.Warnings, err error) (class, problem string) {
	switch {
	case errors.Is(err, errcodes.NewerSchema) && tr.newer():
		return refusedNewer, ""
	case errors.Is(err, errcodes.StoreCorrupted) && b.refusable(tr):
		return refused, ""
	case err != nil:
		return wrong, err.Error()
	}
	seq := b.seqOf(held)
	switch {
	case seq < 0:
		return wrong, "it never held this"
	case seq < b.last() && b.excusable(seq, b.now(tr)):
		return noTrace, ""
	case seq < b.last():
		return wrong, fmt.Sprintf("operation %d of %d is the last it holds, with %v", seq, b.last(), warnings)
	case len(warnings) > 0:
		return rightTold, b.misnamed(tr, warnings)
	case !b.silent(tr):
		return wrong, "it was answered with silence"
	}
	return rightSilent, ""
}

// refusable reports whether T502 is an answer at all: one damaged file alone
// is made good by the others, unless it is the log and holds more than they.
func (b *bench) refusable(tr trial) bool {
	_, log := tr.files[b.currentLog()]
	h, _, _ := headerOf(b.files[statePath])
	return len(tr.files) > 1 || log && h.Seq < b.last()
}

// now is what the files hold with the damage.
func (b *bench) now(tr trial) map[string][]byte {
	files := maps.Clone(b.files)
	maps.Copy(files, tr.files)
	return files
}

// misnamed says what is wrong with warnings: each names a damaged file and another as the source.
func (b *bench) misnamed(tr trial, warnings errcodes.Warnings) string {
	for _, w := range warnings {
		said := map[string]any{}
		for _, attr := range w.Context {
			said[attr.Key] = attr.Value
		}
		if _, damaged := tr.files[fmt.Sprint(said["path"])]; w.Code != errcodes.Recovered || !damaged && said["path"] != b.worn || said["source"] == nil || said["source"] == said["path"] {
			return fmt.Sprintf("the warning %v", w)
		}
	}
	return ""
}

// looks reads single records without the others, what is not there, and one kind
// of record, and lets the doctor look.
func (b *bench) looks(tr trial, class string, held map[string]string) string {
	if class == refused || class == refusedNewer {
		return ""
	}
	if b.large() && tr.kind == "lines swapped" {
		return "" // a search goes by the order of the lines, which only a small state is checked for
	}
	problem := ""
	_, err := b.store.View(ctx, func(v *View) error {
		problem = b.singly(v, held)
		return v.damage()
	})
	switch {
	case err != nil && !errors.Is(err, errcodes.StoreCorrupted):
		return err.Error()
	case err == nil && problem != "":
		return problem
	}
	if class == rightSilent && !b.remarked(tr) {
		return "neither an answer nor the doctor tells"
	}
	if _, _, _, err := b.store.Operations(Query{}); err != nil && !errors.Is(err, errcodes.StoreCorrupted) {
		return "the log: " + err.Error()
	}
	return ""
}

// remarked reports whether the doctor tells of damage that nobody else has
// told of. A backup that is missing, and a file that is what it once was, are none.
func (b *bench) remarked(tr trial) bool {
	for path, data := range tr.files {
		missing := path == backupPath && data == nil
		if !missing && path != b.worn && !b.genuine(path, data) && !sameJSON(data, b.files[path]) {
			return b.findings() != "" || (b.worn != "" || path == b.currentLog()) && b.examination() != b.plain
		}
	}
	return true
}

func (b *bench) singly(v *View, held map[string]string) string {
	for key, want := range held {
		record, found, err := v.Get(key)
		if err == nil && (!found || rendered(record) != want) {
			return fmt.Sprintf("%s by itself is %v %q", key, found, rendered(record))
		}
		if _, found, err := v.Get(key + "-no"); err == nil && found {
			return key + "-no is there"
		}
	}
	return ""
}

func (b *bench) findings() string {
	checks, err := b.store.Check()
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, c := range checks {
		for _, f := range c.Findings {
			fmt.Fprintf(&text, "%s: %s; ", f.Subject, f.Message)
		}
	}
	return text.String()
}

// examination is all that the doctor says.
func (b *bench) examination() string {
	checks, err := b.store.Check()
	return fmt.Sprintf("%+v %v", checks, err)
}
