package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What a lock costs shows in comparison with writes that do nothing else: one
// blocking flock around the same calls, on the same bytes, as one operation of
// the store makes. The calls are not copied from its code, which would grow
// old, but recorded while it makes them.

// rawPath is where a comparison keeps the recorded operation, beside its store.
func rawPath(dir string) string { return filepath.Join(filepath.Dir(dir), "operation.json") }

// raw is one process's means to make the recorded calls.
type raw struct {
	dir   string
	lock  *os.File
	steps []Change
	open  map[string]*os.File
}

// bare makes the recorded calls under a blocking flock.
func (c contender) bare(told *account) {
	r, err := newRaw(c.Dir)
	if err != nil {
		panic(err)
	}
	c.each(told, func(int) error {
		if err := r.write(); err != nil {
			return err
		}
		told.Operations = append(told.Operations, "")
		return nil
	})
}

func newRaw(dir string) (*raw, error) {
	r := &raw{dir: dir, open: map[string]*os.File{}}
	data, err := os.ReadFile(rawPath(dir))
	if err == nil {
		err = json.Unmarshal(data, &r.steps)
	}
	if err == nil {
		r.lock, err = os.OpenFile(r.at(lockPath), os.O_RDWR, 0)
	}
	return r, err
}

func (r *raw) at(path string) string { return filepath.Join(r.dir, path) }

func (r *raw) write() error {
	if err := syscall.Flock(int(r.lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	for _, step := range r.steps {
		if err := r.do(step); err != nil {
			return err
		}
	}
	return syscall.Flock(int(r.lock.Fd()), syscall.LOCK_UN)
}

func (r *raw) do(s Change) error {
	path := r.at(s.Path)
	switch s.Call {
	case "create":
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		r.open[s.Path] = file
		return err
	case "chmod":
		return r.open[s.Path].Chmod(stateNewMode)
	case "write":
		return r.put(s)
	case "sync":
		return r.sync(s.Path)
	case "rename":
		return os.Rename(path, r.at(s.To))
	case "link":
		return os.Link(path, r.at(s.To))
	case "remove":
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return errors.New("a recorded call is unknown: " + s.Call)
}

// put writes the bytes of a step; those for the log go to its end.
func (r *raw) put(s Change) error {
	file, at := r.open[s.Path], s.At
	if file == nil {
		var err error
		if file, err = os.OpenFile(r.at(s.Path), os.O_WRONLY, 0); err != nil {
			return err
		}
		if at, err = file.Seek(0, 2); err != nil {
			return err
		}
		r.open[s.Path] = file
	}
	_, err := file.WriteAt(s.Data, at)
	return err
}

// sync makes a file or directory durable, the log without its times, and closes it.
func (r *raw) sync(path string) error {
	file := r.open[path]
	if file == nil {
		var err error
		if file, err = os.Open(r.at(path)); err != nil {
			return err
		}
	}
	delete(r.open, path)
	defer file.Close()
	if strings.HasPrefix(path, opsPath+"/") {
		return syncData(file)
	}
	return file.Sync()
}

// mustHaveWritten holds that the bare processes did what they are compared
// for: the line that each write appended is in the log so many times.
func (c contest) mustHaveWritten(t *testing.T, s *Store) {
	t.Helper()
	r, err := newRaw(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.lock.Close()
	line := r.steps[0].Data
	if n := bytes.Count(s.file(t, r.steps[0].Path), line); n != c.acknowledged()+1 {
		t.Errorf("%d bare writes left %d lines in the log", c.acknowledged(), n-1)
	}
}

// record makes one operation on the store and writes down what it does to the
// disk. The note of who holds the lock is left out: a bare lock has none.
func record(t *testing.T, s *Store) {
	t.Helper()
	var steps []Change
	recorded, err := Open(s.path, Options{Intercept: func(change *Change, do func() error) error {
		if change.Path != holderPath {
			step := *change
			step.Data = bytes.Clone(change.Data)
			steps = append(steps, step)
		}
		return do()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer recorded.Close()
	put(t, recorded, contendedKey(0), contended(0))
	data, err := json.Marshal(steps)
	if err == nil {
		err = os.WriteFile(rawPath(s.path), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
