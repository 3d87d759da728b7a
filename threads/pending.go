package threads

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

// pendingFiles are the regular files of a thread that a committed operation
// has yet to put in their places, by the path of the artifact. A symbolic
// link is seen once it is there.
type pendingFiles map[string]storage.File

// pendingIn must be asked before the files themselves are looked at.
func pendingIn(r storage.Reader, threadID string) (pendingFiles, error) {
	dir := place(threadID, "")
	files, err := r.Pending(dir)
	pending := pendingFiles{}
	for _, f := range files {
		if f.Mode&fs.ModeSymlink == 0 {
			pending[strings.TrimPrefix(f.Path, dir)] = f
		}
	}
	return pending, err
}

// over returns list as it is when everything pending is in place.
func (p pendingFiles) over(r storage.Reader, list []Artifact) ([]Artifact, error) {
	if len(p) == 0 {
		return list, nil
	}
	at := map[string]Artifact{}
	for _, artifact := range list {
		at[artifact.Path] = artifact
	}
	for path, f := range p {
		if at[path].SHA256 != f.Before {
			continue
		}
		delete(at, path)
		if f.After == "" {
			continue
		}
		content, err := objects.Read(r.Dir(), f.After)
		if err != nil {
			return nil, err
		}
		at[path] = Artifact{Path: path, Bytes: int64(len(content)), SHA256: f.After}
	}
	return slices.SortedFunc(maps.Values(at), func(a, b Artifact) int { return strings.Compare(a.Path, b.Path) }), nil
}

// read returns what path holds when everything pending is in place. It holds
// content now, or err says why that cannot be read.
func (p pendingFiles) read(r storage.Reader, path string, content []byte, err error) ([]byte, error) {
	f, is := p[path]
	now := ""
	if err == nil {
		now = objects.Hash(content)
	}
	switch {
	case !is || now != f.Before || err != nil && !errors.Is(err, fs.ErrNotExist):
		return content, err
	case f.After == "":
		return nil, fs.ErrNotExist
	}
	return objects.Read(r.Dir(), f.After)
}
