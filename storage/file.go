package storage

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is one file that an update changes together with its records.
type File struct {
	Path   string      `json:"path"`             // relative to the directory of the store, with slashes
	From   string      `json:"from,omitempty"`   // a file of the store whose bytes it takes; "" removes Path
	Before string      `json:"before,omitempty"` // SHA-256 in hex of what Path held; "" when there was nothing
	After  string      `json:"after,omitempty"`  // SHA-256 in hex of From; "" when Path is removed
	Mode   os.FileMode `json:"mode,omitempty"`   // permissions; with os.ModeSymlink From holds the target of a link
}

func filepathIsLocal(path string) bool {
	return filepath.IsLocal(filepath.FromSlash(path)) && path != "."
}

// errForeign says that a file is not for an operation to change.
var errForeign = errors.New("it lies outside the files that operations may change")

// allowed returns errForeign unless the file is one that updates may change:
// within the store, and none of the store's own.
func (f File) allowed() error {
	first, _, _ := strings.Cut(f.Path, "/")
	own := strings.HasPrefix(first, statePath) || slices.Contains([]string{opsPath, stagingPath, damagedPath, ignorePath, "objects", "logs"}, first)
	if own || path.Clean(f.Path) != f.Path || !filepathIsLocal(f.Path) || f.From != "" && !filepathIsLocal(f.From) {
		return &fs.PathError{Op: "publish", Path: f.Path, Err: errForeign}
	}
	return nil
}

// realParents returns an error where a directory of path is a link or
// anything else that is no directory.
func (s *Store) realParents(file string) error {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		info, err := s.disk.Lstat(dir)
		if err == nil && !info.IsDir() {
			return &fs.PathError{Op: "publish", Path: dir, Err: errIrregular}
		}
	}
	return nil
}
