// Package objects keeps bytes under their own SHA-256 in .leslie/objects,
// and describes directory trees by the objects they are made of.
//
// An object is written once and never changed: objects/ab/cdef..., mode 0444.
// When a function here has returned an object's hash, the object survives a
// power cut. Any number of processes may put the same object at once.
//
// A snapshot is an object too: a manifest with one line for each file of a
// tree, sorted by path, so that equal trees have equal ids. Merge bases and
// frozen references are snapshots.
package objects

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

const folder = "objects"

// Hash returns the id that content has as an object: its SHA-256 in lower-case hex.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Path returns where the object with this id is, relative to the store. It
// expects an id that Valid accepts.
func Path(id string) string { return shard(id) + "/" + id[2:] }

func shard(id string) string { return folder + "/" + id[:2] }

// Valid reports whether id can be the id of an object.
func Valid(id string) bool {
	if len(id) != hex.EncodedLen(sha256.Size) {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Put makes content an object of the store on disk and returns its id. An
// object that is already there, whole, is left as it is; a damaged one is
// replaced. Failures are T503.
func Put(disk *storage.Disk, content []byte) (string, error) {
	return Hash(content), put(disk, content)
}

func put(disk *storage.Disk, content []byte) error {
	w := writer{disk: disk}
	defer w.discard()
	if err := w.store(ofBytes(content)); err != nil {
		return err
	}
	return w.flush()
}

func ofBytes(content []byte) source {
	return source{
		id:    Hash(content),
		bytes: int64(len(content)),
		open:  func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

// Keep is Put for a transaction: a dry run gives the id and writes nothing.
func Keep(tx *storage.Tx, content []byte) (string, error) {
	if tx.DryRun() {
		return Hash(content), nil
	}
	return Put(tx.Disk(), content)
}

// Read returns the bytes of an object after comparing them with its id. An
// object that is missing, unreadable or changed is T506.
func Read(dir *os.Root, id string) ([]byte, error) {
	if !Valid(id) {
		return nil, unreadable(folder, "'"+errcodes.Clip(id)+"' is not the id of an object", nil)
	}
	content, err := readRegular(dir, Path(id))
	if err != nil {
		return nil, unreadable(Path(id), reason(err), err)
	}
	if Hash(content) != id {
		return nil, unreadable(Path(id), "its content does not match its hash", nil)
	}
	return content, nil
}

func unreadable(path, why string, cause error) *errcodes.Error {
	return errcodes.ReadFailed.With("path", path, "reason", why).Because(cause)
}

func unwritable(path string, cause error) *errcodes.Error {
	return errcodes.WriteFailed.With("path", path, "reason", reason(cause)).Because(cause)
}

// perm is the mode of an object: written once, read by everyone.
const perm fs.FileMode = 0o444
