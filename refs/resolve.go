package refs

import (
	"errors"
	"io/fs"
	"os"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

// Resolved says where a path of a reference is to be read.
type Resolved struct {
	Reference Reference
	Path      string // as it was asked for
	File      string // relative to the store
	Bytes     int64
	SHA256    string
}

// File is one file that a reference gives to its thread.
type File struct {
	Path   string // in the target
	File   string // relative to the store
	Bytes  int64
	SHA256 string
}

// Resolve returns the file that a path of a reference stands for: the copy of
// a frozen one, after it was compared with its snapshot, or the target's own
// file of a live one. Symbolic links are followed within the artifacts. It
// fails with T203; with T204 where the path is not in the scope; with T202
// where the reference was never resolved, its copy or snapshot is damaged, or
// its live target is gone or unreadable; with T110 where there is no such
// file; and with T903 where the path leaves the artifacts.
func Resolve(r storage.Reader, refID, path string) (Resolved, error) {
	if err := objects.CheckPath(path); err != nil {
		return Resolved{}, err
	}
	ref, err := Find(r, refID)
	if err != nil {
		return Resolved{}, err
	}
	if err := ref.covers(path); err != nil {
		return Resolved{}, err
	}
	var at located
	if ref.Binding == Live {
		at, err = ref.inTarget(r, path)
	} else {
		at, err = ref.inSnapshot(r, path)
	}
	if err != nil {
		return Resolved{}, err
	}
	return Resolved{Reference: ref, Path: path, File: at.tree + "/" + at.Path, Bytes: at.Bytes, SHA256: at.SHA256}, nil
}

// located is an entry in its tree.
type located struct {
	tree string
	objects.Entry
}

func (ref Reference) covers(path string) error {
	if objects.Within(ref.Scopes, path) {
		return nil
	}
	return errcodes.OutsideScope.With("refId", ref.ID, "path", path, "scope", ref.Scopes)
}

func (ref Reference) corrupted(reason string) *errcodes.Error {
	return errcodes.TargetCorrupted.With("target", ref.Target, "refId", ref.ID, "reason", reason)
}

func (ref Reference) lacks(path string) *errcodes.Error {
	return errcodes.ArtifactNotFound.With("threadId", ref.Target, "path", path)
}

// load reads the snapshot of a frozen reference.
func (ref Reference) load(r storage.Reader) (objects.Snapshot, error) {
	if ref.Snapshot == "" {
		return objects.Snapshot{}, ref.corrupted("the target was not there when the reference was made; refresh it").
			Having("next", []string{"leslie reference refresh " + ref.ID})
	}
	snapshot, err := objects.Load(r.Dir(), ref.Snapshot)
	if err != nil {
		return objects.Snapshot{}, ref.corrupted(err.Error()).Because(err)
	}
	return snapshot, nil
}

func (ref Reference) inSnapshot(r storage.Reader, path string) (located, error) {
	snapshot, err := ref.load(r)
	if err != nil {
		return located{}, err
	}
	real, err := objects.Follow(path, links(r, snapshot))
	if err != nil {
		return located{}, objects.Fault(path, err)
	}
	entry, found := snapshot.Entry(real)
	if !found {
		return located{}, ref.lacks(path)
	}
	root, err := objects.OpenTree(r.Dir(), ref.copies())
	if err != nil {
		return located{}, ref.corrupted("the copy of its snapshot is missing").Because(err)
	}
	defer root.Close()
	return located{ref.copies(), entry}, ref.verify(root, entry)
}

// links gives the symbolic links of a snapshot in the form that Follow takes.
// One whose text is lost counts as none, and is then not found.
func links(r storage.Reader, s objects.Snapshot) func(string) (string, bool) {
	return func(at string) (string, bool) {
		entry, found := s.Entry(at)
		if !found || entry.Mode&fs.ModeSymlink == 0 {
			return "", false
		}
		target, err := objects.Read(r.Dir(), entry.SHA256)
		return string(target), err == nil
	}
}

// verify compares a copy with what the snapshot says of it.
func (ref Reference) verify(copies *os.Root, entry objects.Entry) error {
	is, err := objects.Describe(copies, entry.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ref.corrupted("the copy of '" + entry.Path + "' is missing").Because(err)
	case err != nil:
		return ref.corrupted("the copy of '" + entry.Path + "' cannot be read: " + err.Error()).Because(err)
	case is.SHA256 != entry.SHA256 || is.Mode.Type() != entry.Mode.Type():
		return ref.corrupted("the copy of '" + entry.Path + "' was changed")
	}
	return nil
}

func (ref Reference) inTarget(r storage.Reader, path string) (located, error) {
	root, err := ref.openTarget(r)
	if errors.Is(err, fs.ErrNotExist) {
		return located{}, ref.lacks(path)
	}
	if err != nil {
		return located{}, err
	}
	defer root.Close()
	real, err := objects.Follow(path, objects.Links(root))
	if err != nil {
		return located{}, objects.Fault(path, err)
	}
	if err := ref.covers(real); err != nil {
		return located{}, err
	}
	entry, err := objects.Describe(root, real)
	if errors.Is(err, fs.ErrNotExist) {
		return located{}, ref.lacks(path)
	}
	if err != nil {
		err = objects.Fault(path, err)
	}
	if errors.Is(err, errcodes.ReadFailed) {
		err = ref.corrupted(err.Error()).Because(err)
	}
	return located{ref.artifacts(), entry}, err
}

// openTarget opens the artifacts of a live reference: T202 where there is no
// such thread or they cannot be opened, fs.ErrNotExist where it has none.
func (ref Reference) openTarget(r storage.Reader) (*os.Root, error) {
	if !ref.TargetResolved {
		return nil, ref.corrupted("thread not found")
	}
	root, err := objects.OpenTree(r.Dir(), ref.artifacts())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, ref.corrupted(err.Error()).Because(err)
	}
	return root, err
}

// Files returns what a reference gives to its thread now, sorted by path;
// never nil. Every copy of a frozen reference is compared with its snapshot.
// It fails with T202 as Resolve does.
func Files(r storage.Reader, ref Reference) ([]File, error) {
	if ref.Binding == Live {
		return ref.liveFiles(r)
	}
	snapshot, err := ref.load(r)
	if err != nil || len(snapshot.Entries) == 0 {
		return []File{}, err
	}
	root, err := objects.OpenTree(r.Dir(), ref.copies())
	if err != nil {
		return nil, ref.corrupted("the copy of the snapshot is missing: " + err.Error()).Because(err)
	}
	defer root.Close()
	for _, entry := range snapshot.Entries {
		if err := ref.verify(root, entry); err != nil {
			return nil, err
		}
	}
	return files(ref.copies(), snapshot.Entries), nil
}

func (ref Reference) liveFiles(r storage.Reader) ([]File, error) {
	root, err := ref.openTarget(r)
	if errors.Is(err, fs.ErrNotExist) {
		return []File{}, nil
	}
	if err != nil {
		return nil, err
	}
	root.Close()
	snapshot, _, err := objects.Measure(r.Dir(), ref.artifacts(), ref.Scopes)
	if err != nil {
		return nil, ref.corrupted(err.Error()).Because(err)
	}
	return files(ref.artifacts(), snapshot.Entries), nil
}

func files(tree string, entries []objects.Entry) []File {
	list := make([]File, len(entries))
	for i, entry := range entries {
		list[i] = File{Path: entry.Path, File: tree + "/" + entry.Path, Bytes: entry.Bytes, SHA256: entry.SHA256}
	}
	return list
}
