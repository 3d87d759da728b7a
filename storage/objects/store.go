package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"

	"github.com/leslie-sh/leslie/storage"
)

// source is what is to become an object; it can be opened more than once.
type source struct {
	id    string
	bytes int64
	open  func() (io.ReadCloser, error)
}

// errChanged says that a source has not the bytes it was hashed with.
var errChanged = errors.New("it changed while it was read")

// writer puts objects: each into a staged file, synced, and all of them into
// their places with flush, so that a reader sees a whole object or none, and
// every directory is synced once for any number of objects. What a writer
// that died leaves staged, the next update of the store removes.
//
// A directory is synced also where the object was already there: the process
// that renamed it into place may have died before its own sync.
type writer struct {
	disk    *storage.Disk
	touched map[string]bool
	made    bool     // whether the folder of all objects is new
	staged  []staged // in the order of writing
}

// staged is an object that waits for its place.
type staged struct{ path, id string }

// store stages s. It is an object, and durable, after flush. Failures are
// T503, errChanged, or those of opening s.
func (w *writer) store(s source) error {
	home := shard(s.id)
	if err := w.makeHome(home); err != nil {
		return unwritable(home, err)
	}
	if w.touched == nil {
		w.touched = map[string]bool{}
	}
	w.touched[home] = true
	if intact(w.disk.Root, s.id, s.bytes) {
		return nil
	}
	from, err := s.open()
	if err != nil {
		return err // the source's fault, not that of what is written
	}
	defer from.Close()
	temporary := path.Join(storage.StagingDir, "object-"+strconv.FormatUint(rand.Uint64(), 36))
	err = w.write(temporary, from, s.id)
	if err == nil {
		w.staged = append(w.staged, staged{temporary, s.id})
		return nil
	}
	if errors.Is(err, errChanged) {
		return err
	}
	return unwritable(Path(s.id), err)
}

func (w *writer) makeHome(home string) error {
	if w.touched[home] {
		return nil
	}
	for _, dir := range []string{storage.StagingDir, folder, home} {
		err := w.disk.Mkdir(dir)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		w.made = w.made || err == nil && dir == folder
	}
	return realDirs(w.disk.Root, home)
}

func (w *writer) write(temporary string, from io.Reader, id string) error {
	file, err := w.disk.Create(temporary, perm)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, sum), from)
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != id {
		err = errChanged
	}
	if err == nil {
		err = file.Sync()
	}
	return file.Finish(err)
}

// flush puts everything stored so far in its place and makes it durable. The
// staged names are synced first: a rename of a name that a power cut takes
// back would be lost with it.
func (w *writer) flush() error {
	if len(w.staged) > 0 {
		if err := w.disk.SyncDir(storage.StagingDir); err != nil {
			return unwritable(storage.StagingDir, err)
		}
	}
	for len(w.staged) > 0 {
		object := w.staged[0]
		if err := w.disk.Rename(object.path, Path(object.id)); err != nil {
			return unwritable(Path(object.id), err)
		}
		w.staged = w.staged[1:]
	}
	for _, home := range slices.Sorted(maps.Keys(w.touched)) {
		if err := w.disk.SyncDir(home); err != nil {
			return unwritable(home, err)
		}
	}
	if len(w.touched) == 0 {
		return nil
	}
	if err := w.disk.SyncDir(folder); err != nil {
		return unwritable(folder, err)
	}
	if !w.made {
		return nil
	}
	if err := w.disk.SyncDir("."); err != nil {
		return unwritable(".", err)
	}
	return nil
}

// discard removes what was staged and will not be put in its place.
func (w *writer) discard() {
	for _, object := range w.staged {
		_ = w.disk.Remove(object.path) // else the next update does
	}
}

// intact reports whether the object is there with the right bytes.
func intact(dir *os.Root, id string, size int64) bool {
	file, err := openRegular(dir, Path(id))
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() != size {
		return false
	}
	sum, _, err := hashOf(file)
	return err == nil && sum == id
}

func hashOf(from io.Reader) (id string, size int64, err error) {
	sum := sha256.New()
	size, err = io.Copy(sum, from)
	return hex.EncodeToString(sum.Sum(nil)), size, err
}
