package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/leslie-sh/leslie/errcodes"
)

// Init makes the store in dir, unless there is one already, and reports
// whether it did. Many processes may call it at once: one makes the store and
// the others find it. A store that is damaged is never made anew. Codes:
// T501, T502, T503, T505, T506.
func Init(ctx context.Context, dir string, options Options) (created bool, err error) {
	above := &Disk{Intercept: options.Intercept}
	err = above.change(Change{Call: "mkdir", Path: "."}, func(*Change) error { return os.Mkdir(dir, 0o755) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, cannotWrite(dir, err)
	}
	store, err := Open(dir, options)
	if err != nil {
		return false, err
	}
	defer store.Close()
	if there, err := store.exists(); there || err != nil {
		return false, err
	}
	held, err := store.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer held.release()
	if there, err := store.exists(); there || err != nil {
		return false, err
	}
	if err := store.create(); err != nil {
		return false, err
	}
	return true, nil
}

// exists reports whether a store was made here, in whatever condition it is.
func (s *Store) exists() (bool, error) {
	loaded, err := s.load()
	if errors.Is(err, errcodes.NoStore) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	loaded.close()
	return true, nil
}

// create writes the files of an empty store, the state last: until it is
// there, the store was not made.
func (s *Store) create() error {
	if err := s.makeOps(); err != nil {
		return cannotWrite(opsPath, err)
	}
	first := firstLine(1, 0)
	steps := []struct {
		path, dir string
		data      []byte
	}{
		{ignorePath, ".", []byte("*\n")},
		{generationPath(1), opsPath, first},
	}
	for _, step := range steps {
		if err := s.replace(step.path, step.dir, stateNewMode, step.data); err != nil {
			return cannotWrite(step.path, err)
		}
	}
	empty := &state{generation: 1, logEnd: int64(len(first)), small: true}
	err := s.rewrite(empty)
	if err != nil {
		err = cannotWrite(statePath, err)
	} else {
		err = s.syncAbove()
	}
	if err == nil {
		return nil
	}
	if left := s.disk.Remove(statePath); left != nil {
		unknown := errcodes.Of(err)
		unknown.Effect = errcodes.Unknown
		return unknown
	}
	return err
}

// syncAbove makes the name of the store's own directory durable.
func (s *Store) syncAbove() error {
	parent, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return cannotWrite(s.path, err)
	}
	defer parent.Close()
	err = s.disk.change(Change{Call: "sync", Path: ".."}, func(*Change) error { return parent.Sync() })
	if err != nil {
		return cannotWrite(s.path, err)
	}
	return nil
}
