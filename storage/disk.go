package storage

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Change is one call that changes what is on disk.
type Change struct {
	Call string `json:"call"`           // create, chmod, write, truncate, sync, mkdir, rename, link, symlink or remove
	Path string `json:"path"`           // relative to the directory of the store; ".." is the directory above
	To   string `json:"to,omitempty"`   // of rename and link: the new name; of symlink: the target
	Data []byte `json:"data,omitempty"` // of write
	At   int64  `json:"at,omitempty"`   // of write: where; of truncate: the new size
}

// Disk is the directory of the store together with the only calls that
// change it. Every one of them passes Intercept where that is set, so that a
// test can see it, make it fail, or end the process before, in or after it.
type Disk struct {
	*os.Root
	Intercept func(change *Change, do func() error) error
}

func (d *Disk) change(change Change, do func(*Change) error) error {
	if d.Intercept == nil {
		return do(&change)
	}
	return d.Intercept(&change, func() error { return do(&change) })
}

// Create makes a file that does not exist yet, with exactly this mode.
func (d *Disk) Create(path string, mode os.FileMode) (*Handle, error) {
	made := &Handle{disk: d, path: path}
	err := d.change(Change{Call: "create", Path: path}, func(*Change) (err error) {
		made.file, err = d.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	if err == nil {
		err = d.change(Change{Call: "chmod", Path: path}, func(*Change) error { return made.file.Chmod(mode.Perm()) })
	}
	if err != nil && made.file != nil {
		return nil, made.Finish(err)
	}
	return made, err
}

// openToWrite opens a file that exists.
func (d *Disk) openToWrite(path string) (*Handle, error) {
	file, err := openRegular(d.Root, path, os.O_WRONLY, 0)
	return &Handle{disk: d, path: path, file: file}, err
}

// Mkdir makes one directory.
func (d *Disk) Mkdir(path string) error {
	return d.change(Change{Call: "mkdir", Path: path}, func(*Change) error { return d.Root.Mkdir(path, 0o755) })
}

// Rename gives a file another name, over whatever file has it.
func (d *Disk) Rename(from, to string) error {
	return d.change(Change{Call: "rename", Path: from, To: to}, func(*Change) error { return d.Root.Rename(from, to) })
}

// Link gives a file a second name.
func (d *Disk) Link(from, to string) error {
	return d.change(Change{Call: "link", Path: from, To: to}, func(*Change) error { return d.Root.Link(from, to) })
}

// Symlink makes a symbolic link at path.
func (d *Disk) Symlink(target, path string) error {
	return d.change(Change{Call: "symlink", Path: path, To: target}, func(*Change) error { return d.Root.Symlink(target, path) })
}

// Remove removes a file or an empty directory, if it is there.
func (d *Disk) Remove(path string) error {
	if _, err := d.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := d.change(Change{Call: "remove", Path: path}, func(*Change) error { return d.Root.Remove(path) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// RemoveAll removes a file, or a directory with all that is in it, if it is
// there. It follows no link.
func (d *Disk) RemoveAll(path string) error {
	entries, err := ReadDir(d.Root, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil && !errors.Is(err, errIrregular) {
		return err
	}
	for _, entry := range entries {
		if err := d.RemoveAll(path + "/" + entry.Name()); err != nil {
			return err
		}
	}
	return d.Remove(path)
}

// SyncDir makes the names in a directory durable.
func (d *Disk) SyncDir(path string) error {
	dir, err := d.Root.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return d.change(Change{Call: "sync", Path: path}, func(*Change) error { return dir.Sync() })
}

// Handle is a file of the store that is being written.
type Handle struct {
	disk *Disk
	path string
	file *os.File
	at   int64 // where the next Write goes
}

// WriteAt writes data at an offset.
func (h *Handle) WriteAt(data []byte, offset int64) (n int, err error) {
	err = h.disk.change(Change{Call: "write", Path: h.path, Data: data, At: offset}, func(change *Change) error {
		n, err = h.file.WriteAt(change.Data, change.At)
		return err
	})
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return n, err
}

// Write writes data behind what was written before.
func (h *Handle) Write(data []byte) (int, error) {
	n, err := h.WriteAt(data, h.at)
	h.at += int64(n)
	return n, err
}

// Truncate cuts the file to size.
func (h *Handle) Truncate(size int64) error {
	return h.disk.change(Change{Call: "truncate", Path: h.path, At: size}, func(change *Change) error { return h.file.Truncate(change.At) })
}

// Sync makes the file durable, but not its name.
func (h *Handle) Sync() error {
	return h.disk.change(Change{Call: "sync", Path: h.path}, func(*Change) error { return h.file.Sync() })
}

// syncData makes the file's content durable, and the size that it needs.
func (h *Handle) syncData() error {
	return h.disk.change(Change{Call: "sync", Path: h.path}, func(*Change) error { return syncData(h.file) })
}

// Close closes the file, which may yet report a failed write.
func (h *Handle) Close() error { return h.file.Close() }

// Finish closes the file, and removes it when err, or the closing, says that
// it did not come to be whole.
func (h *Handle) Finish(err error) error {
	if closed := h.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return errors.Join(err, h.disk.Remove(h.path))
	}
	return nil
}
