package objects

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

// Take makes a snapshot of the files of tree, a directory relative to the
// store, that scopes cover (no scopes: all). Afterwards their bytes and the
// manifest are durable objects. A tree that does not exist gives the empty
// snapshot; one that is no real directory is T503.
//
// Files only: an empty directory leaves no trace. A symbolic link that stays
// in the tree is taken as a link; what is neither (a FIFO, a link that leaves
// the tree, an unreadable file) is left out, each with a warning (W110) that
// has threadId, path and reason. A file that is written meanwhile is read again.
func Take(disk *storage.Disk, tree string, scopes []string) (Snapshot, errcodes.Warnings, error) {
	w := &writer{disk: disk}
	defer w.discard()
	return take(disk.Root, tree, scopes, w.store, func(text []byte) error {
		if err := w.store(ofBytes(text)); err != nil {
			return err
		}
		return w.flush()
	})
}

// Measure is Take without writing: the snapshot that Take would make now.
func Measure(dir *os.Root, tree string, scopes []string) (Snapshot, errcodes.Warnings, error) {
	return take(dir, tree, scopes, func(source) error { return nil }, func([]byte) error { return nil })
}

// Capture is Take for a transaction: a dry run measures only. Warnings go to tx.
func Capture(tx *storage.Tx, tree string, scopes []string) (Snapshot, error) {
	look := func() (Snapshot, errcodes.Warnings, error) { return Take(tx.Disk(), tree, scopes) }
	if tx.DryRun() {
		look = func() (Snapshot, errcodes.Warnings, error) { return Measure(tx.Dir(), tree, scopes) }
	}
	snapshot, warnings, err := look()
	for _, warning := range warnings {
		tx.Warn(warning)
	}
	return snapshot, err
}

// KeepFile makes an object of the regular file or symbolic link at name in
// root, a tree of the store, following nothing, and describes it. A dry run
// of tx writes nothing. It returns the faults of ReadFile, or T503.
func KeepFile(tx *storage.Tx, root *os.Root, name string) (Entry, error) {
	w := &writer{disk: tx.Disk()}
	defer w.discard()
	keep := w.store
	if tx.DryRun() {
		keep = func(source) error { return nil }
	}
	entry, err := read(root, name, keep)
	if err != nil {
		return Entry{}, err
	}
	return entry, w.flush()
}

func take(dir *os.Root, tree string, scopes []string, keep func(source) error, finish func(manifest []byte) error) (Snapshot, errcodes.Warnings, error) {
	t := taking{tree: tree, scopes: scopes, keep: keep}
	root, err := OpenTree(dir, tree)
	if err == nil {
		t.root = root
		err = fs.WalkDir(root.FS(), ".", t.visit)
		root.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Snapshot{}, t.warnings, err
	}
	slices.SortFunc(t.entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	snapshot, text := seal(t.entries)
	return snapshot, t.warnings, finish(text)
}

// taking is one walk over a tree.
type taking struct {
	root     *os.Root
	tree     string
	scopes   []string
	keep     func(source) error
	entries  []Entry
	warnings errcodes.Warnings
}

func (t *taking) visit(path string, found fs.DirEntry, err error) error {
	if path == "." && err != nil {
		return unreadable(t.tree, reason(err), err)
	}
	if err != nil {
		return t.leaveOut(path, err)
	}
	if found.IsDir() {
		return nil
	}
	if !Within(t.scopes, path) {
		return nil
	}
	if problem := wrong(path); problem != "" {
		return t.leaveOut(path, errors.New("its path "+problem))
	}
	entry, err := read(t.root, path, t.keep)
	switch {
	case errors.Is(err, errcodes.WriteFailed):
		return err
	case errors.Is(err, fs.ErrNotExist): // removed while we walked
		return nil
	case err != nil:
		return t.leaveOut(path, err)
	}
	t.entries = append(t.entries, entry)
	return nil
}

func (t *taking) leaveOut(path string, why error) error {
	if errors.Is(why, fs.ErrNotExist) || !Within(t.scopes, path) {
		return nil
	}
	t.warnings.Add(errcodes.ArtifactLeftOut.Warn("threadId", owner(t.tree), "path", Printable(path), "reason", reason(why)))
	return nil
}

// read describes the file at path and has it kept. A file that changes
// between the two is read again, a few times.
func read(root *os.Root, path string, keep func(source) error) (Entry, error) {
	for attempt := 1; ; attempt++ {
		s, mode, err := sourceAt(root, path)
		if err != nil {
			return Entry{}, err
		}
		err = keep(s)
		if err == nil {
			return Entry{Path: path, SHA256: s.id, Bytes: s.bytes, Mode: mode}, nil
		}
		if !errors.Is(err, errChanged) {
			return Entry{}, err
		}
		if attempt == 5 {
			return Entry{}, errChanged
		}
	}
}

func sourceAt(root *os.Root, path string) (source, fs.FileMode, error) {
	info, err := root.Lstat(path)
	if err != nil {
		return source{}, 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return linkAt(root, path)
	}
	file, err := openRegular(root, path)
	if err != nil {
		return source{}, 0, err
	}
	defer file.Close()
	id, size, err := hashOf(file)
	if err != nil {
		return source{}, 0, err
	}
	again := func() (io.ReadCloser, error) { return openRegular(root, path) }
	return source{id: id, bytes: size, open: again}, kinds[kindOf(info.Mode())], nil
}

func linkAt(root *os.Root, path string) (source, fs.FileMode, error) {
	if _, err := Follow(path, Links(root)); err != nil {
		return source{}, 0, err
	}
	target, err := root.Readlink(path)
	if err != nil {
		return source{}, 0, err
	}
	return ofBytes([]byte(target)), fs.ModeSymlink, nil
}

// Describe returns what a snapshot would say of the regular file or symbolic
// link at name in root. It returns the faults of ReadFile.
func Describe(root *os.Root, name string) (Entry, error) {
	return read(root, name, func(source) error { return nil })
}
