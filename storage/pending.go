package storage

import (
	"errors"
	"io/fs"
	"strings"
)

// A process that dies between its commit and the end of its publication
// leaves files that the log has and that are not yet in their places; a live
// one does so for a moment. Whoever writes next puts them there. Readers write
// nothing, so they ask what is pending and take that for what it is: done.

// operationPrefix begins the id of every operation.
const operationPrefix = "op-"

// Pending returns the files whose paths begin with prefix and that a committed
// operation has yet to put in their places. One counts where its place still
// holds what it is to replace; anything else there is newer. Whoever asks looks at the place
// afterwards, so that what is put in place meanwhile is not missed. Codes: T506.
func (v *View) Pending(prefix string) ([]File, error) {
	return v.store.pending(v.generation, prefix)
}

// Pending is what the View has. An update that is no dry run has finished
// whatever was pending when it began.
func (tx *Tx) Pending(prefix string) ([]File, error) {
	if !tx.DryRun() {
		return nil, nil
	}
	return tx.store.pending(tx.generation, prefix)
}

func (s *Store) pending(generation int64, prefix string) ([]File, error) {
	staged, err := ReadDir(s.disk.Root, stagingPath)
	// Where something else stands nothing waits; the next write refuses it.
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errIrregular) {
		return nil, cannotRead(stagingPath, err)
	}
	var pending []File
	for _, directory := range staged {
		if !strings.HasPrefix(directory.Name(), operationPrefix) {
			continue
		}
		files, committed, err := s.filesOf(directory.Name(), generation)
		if err != nil {
			return nil, cannotRead(opsPath, err)
		}
		for number, file := range files {
			if committed && strings.HasPrefix(file.Path, prefix) && s.waits(directory.Name(), number, file) {
				pending = append(pending, file)
			}
		}
	}
	return pending, nil
}

// waits reports whether the bytes of a file are still where they were staged:
// else they were in their place already, and what is there now is newer.
func (s *Store) waits(operation string, number int, file File) bool {
	_, err := s.disk.Lstat(stagedPath(operation, number))
	return file.From == "" || err == nil
}
