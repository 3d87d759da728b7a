package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Files change with the records of an update. Before the commit their new
// bytes stand under staging/<operation>/<number>; after it each is renamed into
// its place. A process that dies between leaves the directory, and whoever
// takes the lock next finishes: files of an operation that the log has are
// put in place, over the bytes they were to replace and no others; those of
// any other are thrown away.

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

func stagedPath(operation string, number int) string {
	return stagingPath + "/" + operation + "/" + strconv.Itoa(number)
}

// stage copies the bytes of a file to where they wait for the commit.
func (s *Store) stage(operation string, number int, file File) error {
	if _, err := s.makeDirs(stagingPath + "/" + operation); err != nil {
		return cannotWrite(stagingPath, err)
	}
	source, err := openRegular(s.disk.Root, file.From, os.O_RDONLY, 0)
	if err != nil {
		return cannotRead(file.From, err)
	}
	defer source.Close()
	staged := stagedPath(operation, number)
	if file.Mode&os.ModeSymlink != 0 {
		target, err := io.ReadAll(source)
		if err == nil {
			err = s.disk.Symlink(string(target), staged)
		}
		if err != nil {
			return cannotWrite(staged, err)
		}
		return nil
	}
	target, err := s.createNew(staged, file.Mode)
	if err != nil {
		return cannotWrite(staged, err)
	}
	if _, err = io.Copy(target, source); err == nil {
		err = target.Sync()
	}
	if err := target.Finish(err); err != nil {
		return cannotWrite(staged, err)
	}
	return nil
}

// errMoved says that a file is not any more what an update has seen: an agent
// has edited it meanwhile.
var errMoved = errors.New("it was changed meanwhile")

// commitStaging makes the names of what is staged durable, so that the files
// are there if the commit is. It fails with errMoved where the update would
// replace something that it has not seen.
func (s *Store) commitStaging(tx *Tx) error {
	if len(tx.files) == 0 {
		return nil
	}
	for _, file := range tx.files {
		now, err := s.sum(file.Path)
		if err == nil && now != file.Before {
			err = errMoved
		}
		if err != nil {
			return cannotWrite(file.Path, err)
		}
	}
	if _, err := s.makeDirs(stagingPath + "/" + tx.id); err != nil {
		return cannotWrite(stagingPath, err)
	}
	for _, dir := range []string{stagingPath + "/" + tx.id, stagingPath, "."} {
		if err := s.disk.SyncDir(dir); err != nil {
			return cannotWrite(dir, err)
		}
	}
	return nil
}

// publish puts the files of a committed operation in their places, durably,
// and then forgets what was staged.
func (s *Store) publish(operation string, files []File) error {
	if len(files) == 0 {
		return nil
	}
	touched := map[string]bool{}
	var moved error
	for number, file := range files {
		err := s.place(stagedPath(operation, number), file, touched)
		if errors.Is(err, errMoved) {
			moved = err
			continue
		}
		if err != nil {
			return err
		}
	}
	for dir := range touched {
		if err := s.disk.SyncDir(dir); err != nil {
			return err
		}
	}
	return errors.Join(moved, s.disk.RemoveAll(stagingPath+"/"+operation))
}

// publishedPath is the file that could not be published, where err names one.
func publishedPath(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) && path.Op == "publish" {
		return path.Path
	}
	return stagingPath
}

// place puts one file where it belongs. A place that holds something else
// than it was to replace is left alone: errMoved, unless it is there already.
func (s *Store) place(staged string, file File, touched map[string]bool) error {
	now, err := s.sum(file.Path)
	if err != nil || now == file.After {
		return err
	}
	if now != file.Before {
		return &fs.PathError{Op: "publish", Path: file.Path, Err: errMoved}
	}
	if file.From == "" {
		if err := s.disk.Remove(file.Path); err != nil {
			return err
		}
		touched[path.Dir(file.Path)] = true
		return nil
	}
	made, err := s.makeDirs(path.Dir(file.Path))
	if err != nil {
		return err
	}
	for _, dir := range append(made, path.Dir(file.Path)) {
		touched[dir] = true
	}
	err = s.disk.Rename(staged, file.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is gone: %w", staged, err)
	}
	return err
}

// sum returns the SHA-256 of a file in hex, of a link's target for a link, or "" where there is none.
func (s *Store) sum(path string) (string, error) {
	info, err := s.disk.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := s.disk.Readlink(path)
		hash.Write([]byte(target))
		return hex.EncodeToString(hash.Sum(nil)), err
	}
	file, err := openRegular(s.disk.Root, path, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// makeDirs makes a directory and those above it, follows no link, and
// returns the directories that have a new entry.
func (s *Store) makeDirs(dir string) (changed []string, err error) {
	at := ""
	for name := range strings.SplitSeq(dir, "/") {
		parent := at
		at = path.Join(at, name)
		info, err := s.disk.Lstat(at)
		switch {
		case err == nil && info.IsDir():
			continue
		case err == nil:
			return changed, &fs.PathError{Op: "mkdir", Path: at, Err: errors.New("not a directory")}
		case !errors.Is(err, fs.ErrNotExist):
			return changed, err
		}
		if err := s.disk.Mkdir(at); err != nil && !errors.Is(err, fs.ErrExist) {
			return changed, err
		}
		changed = append(changed, path.Join(".", parent))
	}
	return changed, nil
}

// loadToWrite loads the state under the lock and finishes what a process that
// died had begun.
func (s *Store) loadToWrite() (*state, error) {
	st, err := s.load()
	if err != nil {
		return nil, err
	}
	pending, err := ReadDir(s.disk.Root, stagingPath)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(pending) == 0 {
		return st, nil
	}
	if err == nil {
		err = s.finishPublishing(st, pending)
	}
	if err != nil {
		st.close()
		return nil, cannotWrite(stagingPath, err)
	}
	return st, nil
}

func (s *Store) finishPublishing(st *state, pending []fs.DirEntry) error {
	for _, directory := range pending {
		files, committed, err := s.filesOf(directory.Name(), st.generation)
		if err != nil {
			return err
		}
		if committed {
			if err := s.publish(directory.Name(), files); err != nil && !errors.Is(err, errMoved) {
				return err
			}
		}
		if err := s.disk.RemoveAll(stagingPath + "/" + directory.Name()); err != nil {
			return err
		}
	}
	return nil
}

// filesOf looks an operation up in the log file of a generation and the one before.
func (s *Store) filesOf(operation string, generation int64) (files []File, committed bool, err error) {
	for _, number := range []int64{generation, generation - 1} {
		log, err := readSegment(s.disk.Root, number)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		for _, op := range log.lines {
			if gjson.GetBytes(op.text, "id").Str == operation {
				e, err := op.entry()
				return e.Files, err == nil, err
			}
		}
	}
	return nil, false, nil
}
