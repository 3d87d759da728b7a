package storage

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/leslie-sh/leslie/errcodes"
)

// Calls are the system calls that make an operation durable, as fields, so
// that a test can make the n-th of them fail. A nil field is the real call.
type Calls struct {
	WriteAt  func(file *os.File, data []byte, offset int64) (int, error)
	Sync     func(file *os.File) error // data and metadata, of files and directories
	SyncData func(file *os.File) error // data, and the size it needs
	Rename   func(root *os.Root, from, to string) error
	Link     func(root *os.Root, from, to string) error
	Truncate func(file *os.File, size int64) error
}

func (c Calls) orDefault() Calls {
	if c.WriteAt == nil {
		c.WriteAt = (*os.File).WriteAt
	}
	if c.Sync == nil {
		c.Sync = (*os.File).Sync
	}
	if c.SyncData == nil {
		c.SyncData = syncData
	}
	if c.Rename == nil {
		c.Rename = (*os.Root).Rename
	}
	if c.Link == nil {
		c.Link = (*os.Root).Link
	}
	if c.Truncate == nil {
		c.Truncate = (*os.File).Truncate
	}
	return c
}

// errIrregular says that something else stands in the place of a file of the store.
var errIrregular = errors.New("something else stands in its place; links, pipes and the like are not followed")

// openRegular opens a file of the store, never anything else that may stand
// in its place, and never waits for a pipe. A file that is replaced between
// looking and opening is looked at again.
func openRegular(root *os.Root, path string, flag int, mode os.FileMode) (*os.File, error) {
	for {
		file, replaced, err := tryRegular(root, path, flag, mode)
		if !replaced {
			return file, err
		}
	}
}

func tryRegular(root *os.Root, path string, flag int, mode os.FileMode) (file *os.File, replaced bool, err error) {
	before, err := root.Lstat(path)
	switch {
	case err == nil && !before.Mode().IsRegular():
		return nil, false, &fs.PathError{Op: "open", Path: path, Err: errIrregular}
	case err != nil && (flag&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist)):
		return nil, false, err
	}
	file, err = root.OpenFile(path, flag|syscall.O_NONBLOCK, mode)
	if err != nil {
		return nil, false, err
	}
	after, err := file.Stat()
	replaced = err == nil && before != nil && !os.SameFile(before, after)
	if err == nil && !after.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errIrregular}
	}
	if replaced || err != nil {
		file.Close()
		return nil, replaced, err
	}
	return file, false, nil
}

// ReadDir lists a directory of the store, and nothing else that may stand in
// its place.
func ReadDir(root *os.Root, path string) ([]fs.DirEntry, error) {
	info, err := root.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errIrregular}
	}
	return fs.ReadDir(root.FS(), path)
}

// syncDir makes the names in a directory durable.
func (s *Store) syncDir(path string) error {
	dir, err := s.root.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return s.calls.Sync(dir)
}

// replace writes data to path so that after any crash path holds the old
// content or the new, and the new is durable when replace returns.
func (s *Store) replace(path, dir string, mode os.FileMode, data []byte) error {
	temporary := path + ".tmp"
	if err := s.writeNew(temporary, mode, data); err != nil {
		return err
	}
	if err := s.calls.Rename(s.root, temporary, path); err != nil {
		s.root.Remove(temporary)
		return err
	}
	return s.syncDir(dir)
}

// writeNew makes a durable file that did not exist; what an earlier crash
// left under the name goes.
func (s *Store) writeNew(path string, mode os.FileMode, data []byte) error {
	file, err := s.createNew(path, mode)
	if err != nil {
		return err
	}
	if _, err = s.calls.WriteAt(file, data, 0); err == nil {
		err = s.calls.Sync(file)
	}
	return s.finish(file, path, err)
}

func (s *Store) createNew(path string, mode os.FileMode) (*os.File, error) {
	if err := s.root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := s.root.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	if err := file.Chmod(mode.Perm()); err != nil {
		return nil, s.finish(file, path, err)
	}
	return file, nil
}

// finish closes file, and removes it when it did not come to be whole.
func (s *Store) finish(file *os.File, path string, err error) error {
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		s.root.Remove(path)
	}
	return err
}

// cannotWrite gives the error of a write that failed before the commit.
func cannotWrite(path string, err error) error {
	failed := errcodes.WriteFailed.With("path", path, "reason", reason(err))
	if errors.Is(err, errIrregular) {
		failed = failed.Having("hint", "Move away what stands in the place of "+path+": leslie neither follows nor replaces it")
	}
	return failed.Because(err)
}

// cannotRead gives the error of a file that is there and does not open or read.
func cannotRead(path string, err error) error {
	if errors.Is(err, errIrregular) {
		return cannotWrite(path, err)
	}
	return errcodes.ReadFailed.With("path", path, "reason", reason(err)).Because(err)
}

// reason returns what the system said, without the path that the message has already.
func reason(err error) string {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err.Error()
	case errors.As(err, &link):
		return link.Err.Error()
	}
	return err.Error()
}
