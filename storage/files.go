package storage

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/leslie-sh/leslie/errcodes"
)

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

// replace writes data to path so that after any crash path holds the old
// content or the new, and the new is durable when replace returns.
func (s *Store) replace(path, dir string, mode os.FileMode, data []byte) error {
	temporary := path + ".tmp"
	if err := s.writeNew(temporary, mode, data); err != nil {
		return err
	}
	if err := s.disk.Rename(temporary, path); err != nil {
		return errors.Join(err, s.disk.Remove(temporary))
	}
	return s.disk.SyncDir(dir)
}

// writeNew makes a durable file that did not exist; what an earlier crash
// left under the name goes.
func (s *Store) writeNew(path string, mode os.FileMode, data []byte) error {
	file, err := s.createNew(path, mode)
	if err != nil {
		return err
	}
	if _, err = file.Write(data); err == nil {
		err = file.Sync()
	}
	return file.Finish(err)
}

func (s *Store) createNew(path string, mode os.FileMode) (*Handle, error) {
	if err := s.disk.Remove(path); err != nil {
		return nil, err
	}
	return s.disk.Create(path, mode)
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
