package command

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

// picture is all that a store holds, as far as callers rely on it.
type picture struct {
	code    errcodes.Code     // why there is nothing to see: T502 or T504
	records map[string]string // value and revision by key
	files   map[string]string // what stands under threads/, by path
}

// look takes a picture of the store below dir, and writes nothing.
func look(dir string) (picture, error) {
	seen := picture{records: map[string]string{}}
	store, err := storage.Open(filepath.Join(dir, storeName), storage.Options{})
	if err == nil {
		defer store.Close()
		_, err = store.View(context.Background(), func(v *storage.View) error {
			clear(seen.records)
			for record, err := range v.Scan("") {
				if err != nil {
					return err
				}
				seen.records[record.Key] = fmt.Sprintf("%d %s", record.Revision, record.Value)
			}
			return nil
		})
	}
	if errors.Is(err, errcodes.NoStore) || errors.Is(err, errcodes.StoreCorrupted) {
		return picture{code: errcodes.Of(err).Code}, nil
	}
	if err != nil {
		return seen, err
	}
	seen.files, err = hashesBelow(filepath.Join(dir, storeName, "threads"))
	return seen, err
}

func hashesBelow(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = fmt.Sprintf("%v %x", entry.Type(), sha256.Sum256(content))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return files, err
}

// same compares what is committed. Files follow with the next write.
func (p picture) same(other picture) bool {
	return p.code == other.code && maps.Equal(p.records, other.records)
}

// answered is what a command told its caller.
type answered int

const (
	silent       answered = iota // it was killed, or its outcome is unknown
	refused                      // it failed, and said that nothing was done
	acknowledged                 // it said that it is done
)

// errLost says that what was acknowledged is not there.
var errLost = errors.New("acknowledged and lost")

// hurt is one case of a sweep: a store, and what it may hold.
type hurt struct {
	dir      string
	old, new picture
	told     answered
	inParts  bool // what the command does is more than one operation
	lossy    bool // records were lost before, which the doctor goes on to say
}

// survives returns nil when the store holds the old or the new state, as the
// caller was told; the next write works, and changes nothing else; the doctor
// finds nothing, and nothing is left that was only for the time of a write.
func (h hurt) survives() error {
	now, err := look(h.dir)
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	want := h.old
	switch {
	case now.same(h.new) && (h.told != refused || h.inParts):
		want = h.new
	case h.told == acknowledged:
		return fmt.Errorf("%w: %s", errLost, difference(now, h.new))
	case !now.same(h.old) && !now.same(h.new):
		return fmt.Errorf("the state is neither the old nor the new one: %s", difference(now, h.old, h.new))
	case !now.same(h.old) && !h.inParts:
		return errors.New("refused and done all the same")
	}
	if now.code != "" {
		if want, err = h.mend(now.code); err != nil {
			return err
		}
	}
	for _, line := range [][]string{{"list", "--all"}, {"init"}, {"spawn", "--id", "after", "--intent", "go on"}} {
		if err := h.succeeds(line...); err != nil {
			return err
		}
	}
	return errors.Join(h.grew(want), h.succeeds("doctor"), untidy(h.dir))
}

// mend does what the error of a store that cannot be read asks for, and
// returns what must be there then.
func (h hurt) mend(code errcodes.Code) (picture, error) {
	if code == errcodes.NoStore {
		return picture{}, h.succeeds("init")
	}
	return h.new, h.succeeds("doctor", "--repair")
}

// grew holds that the store has what it had, and the thread after with its objective.
func (h hurt) grew(before picture) error {
	now, err := look(h.dir)
	if err != nil {
		return fmt.Errorf("reading after the next write: %w", err)
	}
	if now.records["thread/after"] == "" {
		return errors.New("the next write is lost")
	}
	delete(now.records, "thread/after")
	if _, there := before.records["objective/obj-default"]; !there {
		delete(now.records, "objective/obj-default")
	}
	if !maps.Equal(now.records, before.records) {
		return fmt.Errorf("the next write changed something else: %s", difference(now, before))
	}
	if !maps.Equal(now.files, before.files) {
		return fmt.Errorf("the files do not go with the records: %v, want %v", now.files, before.files)
	}
	return nil
}

func difference(now picture, others ...picture) string {
	text := fmt.Sprintf("%s has", now.code)
	for i, other := range others {
		for key := range other.records {
			if now.records[key] != other.records[key] {
				text += fmt.Sprintf(" [%d: %s is %q, not %q]", i, key, now.records[key], other.records[key])
			}
		}
		for key := range now.records {
			if _, there := other.records[key]; !there {
				text += fmt.Sprintf(" [%d: %s is more]", i, key)
			}
		}
	}
	return text
}

// succeeds runs a command line in this process, without syncs. The doctor
// must find nothing.
func (h hurt) succeeds(args ...string) error {
	var stdout, stderr bytes.Buffer
	unsynced := func(change *storage.Change, do func() error) error {
		if change.Call == "sync" {
			return nil
		}
		return do()
	}
	p := &process{
		args: append(args, "--json"), stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
		env: environment{"LESLIE_ROOT=" + h.dir}, commands: table, storage: storage.Options{Intercept: unsynced},
	}
	status := p.run()
	answer := gjson.ParseBytes(stdout.Bytes())
	if status != 0 || !answer.Get("success").Bool() {
		return fmt.Errorf("leslie %q: status %d: %s", args, status, &stdout)
	}
	if healthy := answer.Get("data.healthy"); healthy.Exists() && !healthy.Bool() && len(args) == 1 && !h.lossy {
		return fmt.Errorf("the doctor finds %s", answer.Get("data.problems").Raw)
	}
	return nil
}

// untidy names what is there that was only for the time of a write.
func untidy(dir string) error {
	return filepath.WalkDir(filepath.Join(dir, storeName), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".tmp") || filepath.Base(filepath.Dir(path)) == storage.StagingDir) {
			return fmt.Errorf("%s is left", path)
		}
		return err
	})
}
