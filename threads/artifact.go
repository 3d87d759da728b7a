package threads

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

// Artifact is a file of a thread. Bytes and SHA256 are those of its content,
// for a symbolic link those of the text of its target, which is Link.
type Artifact struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Link   string `json:"link,omitempty"`
}

// ArtifactsDir returns where the artifacts of a thread are, relative to the store.
func ArtifactsDir(threadID string) string { return objects.ArtifactsDir(threadID) }

// Artifacts returns the files that a thread has now, sorted by path; never
// nil. Those of a committed operation count as if they were in place already. What is no regular file, cannot be read, or is a symbolic link that
// leaves the thread is left out with a warning (W110). It fails with T101,
// and with T503 where the thread's directories are not real directories.
func Artifacts(r storage.Reader, threadID string) ([]Artifact, errcodes.Warnings, error) {
	if _, err := Find(r, threadID); err != nil {
		return nil, nil, err
	}
	pending, err := pendingIn(r, threadID)
	if err != nil {
		return nil, nil, err
	}
	snapshot, warnings, err := objects.Measure(r.Dir(), ArtifactsDir(threadID), nil)
	if err != nil {
		return nil, warnings, err
	}
	list := make([]Artifact, 0, len(snapshot.Entries))
	for _, entry := range snapshot.Entries {
		artifact := Artifact{Path: entry.Path, Bytes: entry.Bytes, SHA256: entry.SHA256}
		if entry.Mode&fs.ModeSymlink != 0 {
			artifact.Link, _ = r.Dir().Readlink(path.Join(ArtifactsDir(threadID), entry.Path))
		}
		list = append(list, artifact)
	}
	list, err = pending.over(r, list)
	return list, warnings, err
}

// ReadArtifact returns the content of a file of a thread, which is never older
// than what its record or the log shows; a symbolic link is
// followed as long as it stays in the thread. It fails with T101, with T110
// where there is no such file, with T506 where it cannot be read, and with
// T903 where the path leaves the thread or leads to no regular file.
func ReadArtifact(r storage.Reader, threadID, path string) (Artifact, []byte, error) {
	if err := CheckPath(path); err != nil {
		return Artifact{}, nil, err
	}
	if _, err := Find(r, threadID); err != nil {
		return Artifact{}, nil, err
	}
	pending, err := pendingIn(r, threadID)
	if err != nil {
		return Artifact{}, nil, err
	}
	content, err := readFile(r, threadID, path)
	if content, err = pending.read(r, path, content, err); err != nil {
		return Artifact{}, nil, artifactFault(threadID, path, err)
	}
	return Artifact{Path: path, Bytes: int64(len(content)), SHA256: objects.Hash(content)}, content, nil
}

func readFile(r storage.Reader, threadID, path string) ([]byte, error) {
	root, err := objects.OpenTree(r.Dir(), ArtifactsDir(threadID))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return objects.ReadFile(root, path)
}

// artifactFault gives what stands against a path its code.
func artifactFault(threadID, path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errcodes.ArtifactNotFound.With("threadId", threadID, "path", path)
	}
	return objects.Fault(path, err)
}

// PutArtifact writes content to a file of a thread. Bytes that it replaces
// are kept as an object first. A file that may be executed stays so. Afterwards
// the record of the thread has a new revision. It fails with T101, with
// T102 where the thread is archived, with T503, and with T903 where the path
// leaves the thread or where a directory, a symbolic link or anything else
// that is no regular file stands on it: links are never written through and
// never replaced.
func PutArtifact(tx *storage.Tx, threadID, path string, content []byte) (Artifact, Thread, error) {
	t, err := forWriting(tx, threadID, path, "artifact put")
	if err != nil {
		return Artifact{}, Thread{}, err
	}
	old, err := keepOld(tx, threadID, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Artifact{}, Thread{}, artifactFault(threadID, path, err)
	}
	if old.Mode&fs.ModeSymlink != 0 {
		return Artifact{}, Thread{}, usage("'" + path + "' is a symbolic link, which is never written through; remove it first")
	}
	sha, err := objects.Keep(tx, content)
	if err != nil {
		return Artifact{}, Thread{}, err
	}
	entry := objects.Entry{Path: path, SHA256: sha, Bytes: int64(len(content)), Mode: 0o644 | old.Mode&0o111}
	if err := tx.Publish(file(threadID, entry, old.SHA256)); err != nil {
		return Artifact{}, Thread{}, err
	}
	t, err = touch(tx, t)
	return Artifact{Path: path, Bytes: entry.Bytes, SHA256: sha}, t, err
}

// RemoveArtifact removes a file of a thread, of a symbolic link the link. Its
// bytes are kept as an object first; they are what is returned. It fails as
// PutArtifact does, and with T110 where there is no such file.
func RemoveArtifact(tx *storage.Tx, threadID, path string) (Artifact, Thread, error) {
	t, err := forWriting(tx, threadID, path, "artifact remove")
	if err != nil {
		return Artifact{}, Thread{}, err
	}
	old, err := keepOld(tx, threadID, path)
	if err != nil {
		return Artifact{}, Thread{}, artifactFault(threadID, path, err)
	}
	gone := storage.File{Path: place(threadID, path), Before: old.SHA256}
	if err := tx.Publish(gone); err != nil {
		return Artifact{}, Thread{}, err
	}
	t, err = touch(tx, t)
	return Artifact{Path: path, Bytes: old.Bytes, SHA256: old.SHA256}, t, err
}

func forWriting(tx *storage.Tx, threadID, path, action string) (Thread, error) {
	if err := CheckPath(path); err != nil {
		return Thread{}, err
	}
	t, err := Find(tx, threadID)
	if err != nil {
		return Thread{}, err
	}
	return t, writable(t, action)
}

// keepOld makes an object of what is at path now and describes it. Where
// there is nothing it returns fs.ErrNotExist.
func keepOld(tx *storage.Tx, threadID, path string) (objects.Entry, error) {
	root, err := objects.OpenTree(tx.Dir(), ArtifactsDir(threadID))
	if err != nil {
		return objects.Entry{}, err
	}
	defer root.Close()
	if err := realParents(root, path); err != nil {
		return objects.Entry{}, err
	}
	return objects.KeepFile(tx, root, path)
}

// realParents returns T903 where a part of the way to path is a link or a
// file, fs.ErrNotExist where it does not exist yet.
func realParents(root *os.Root, path string) error {
	for i, c := range path {
		if c != '/' {
			continue
		}
		info, err := root.Lstat(path[:i])
		switch {
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return usage("'" + path[:i] + "' is a symbolic link; artifacts are never written through one")
		case !info.IsDir():
			return usage("'" + path[:i] + "' is no directory, so '" + strings.TrimPrefix(path[i:], "/") + "' cannot be in it")
		}
	}
	return nil
}

// file puts an entry of a snapshot in its place in a thread.
func file(threadID string, entry objects.Entry, before string) storage.File {
	return storage.File{
		Path: place(threadID, entry.Path), From: objects.Path(entry.SHA256),
		Before: before, After: entry.SHA256, Mode: entry.Mode,
	}
}

func place(threadID, path string) string { return ArtifactsDir(threadID) + "/" + path }
