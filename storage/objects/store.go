package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"syscall"

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
	dir     *os.Root
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
	if intact(w.dir, s.id, s.bytes) {
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
	w.dir.Remove(temporary)
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
		err := w.dir.Mkdir(dir, 0o755)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		w.made = w.made || err == nil && dir == folder
	}
	return realDirs(w.dir, home)
}

func (w *writer) write(temporary string, from io.Reader, id string) (err error) {
	file, err := w.dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, perm)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, sum), from)
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != id {
		err = errChanged
	}
	if err == nil {
		err = file.Chmod(perm) // whatever the umask took away
	}
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	return err
}

// flush puts everything stored so far in its place and makes it durable. The
// staged names are synced first: a rename of a name that a power cut takes
// back would be lost with it.
func (w *writer) flush() error {
	if len(w.staged) > 0 {
		if err := syncDir(w.dir, storage.StagingDir); err != nil {
			return unwritable(storage.StagingDir, err)
		}
	}
	for len(w.staged) > 0 {
		object := w.staged[0]
		if err := w.dir.Rename(object.path, Path(object.id)); err != nil {
			return unwritable(Path(object.id), err)
		}
		w.staged = w.staged[1:]
	}
	for home := range w.touched {
		if err := syncDir(w.dir, home); err != nil {
			return unwritable(home, err)
		}
	}
	if len(w.touched) == 0 {
		return nil
	}
	if err := syncDir(w.dir, folder); err != nil {
		return unwritable(folder, err)
	}
	if !w.made {
		return nil
	}
	if err := syncDir(w.dir, "."); err != nil {
		return unwritable(".", err)
	}
	return nil
}

// discard removes what was staged and will not be put in its place.
func (w *writer) discard() {
	for _, object := range w.staged {
		w.dir.Remove(object.path)
	}
}

func syncDir(dir *os.Root, name string) error {
	opened, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer opened.Close()
	return opened.Sync()
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
