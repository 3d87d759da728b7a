package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
)

// Files change with the records of an update. Before the commit their new
// bytes stand under staging/<operation>/<number>; after it each is renamed into
// its place. A process that dies between leaves the directory, and whoever
// takes the lock next finishes: files of an operation that the log has are
// put in place, over the bytes they were to replace and no others; those of
// any other are thrown away.

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
// and then forgets what was staged. The names of new directories are durable
// before anything is put into them: a staged file that a power cut lets take
// its place in a directory that it takes away would be lost. redo says that
// another process has begun this, so that nobody knows which are.
func (s *Store) publish(operation string, files []File, redo bool) error {
	if len(files) == 0 {
		return nil
	}
	above, within := map[string]bool{}, map[string]bool{}
	var left error
	for _, file := range files {
		err := s.makeWay(file, redo, above)
		if err != nil && !leavesAlone(err) {
			return err
		}
		if err == nil {
			within[path.Dir(file.Path)] = true
		}
	}
	if err := s.syncDirs(above); err != nil {
		return err
	}
	for number, file := range files {
		if err := s.place(stagedPath(operation, number), file); err != nil {
			if !leavesAlone(err) {
				return err
			}
			left = errors.Join(left, err)
		}
	}
	if err := s.syncDirs(within); err != nil {
		return err
	}
	return errors.Join(left, s.disk.RemoveAll(stagingPath+"/"+operation))
}

// leavesAlone reports whether err concerns one file, which stays as it is.
func leavesAlone(err error) bool {
	return errors.Is(err, errMoved) || errors.Is(err, errForeign) || errors.Is(err, errGone)
}

// makeWay makes the directories above a file that is to take its place, and
// notes those whose entries have to be made durable.
func (s *Store) makeWay(file File, redo bool, above map[string]bool) error {
	if err := file.allowed(); err != nil || file.From == "" {
		return err
	}
	changed, err := s.makeDirs(path.Dir(file.Path))
	for _, dir := range changed {
		above[dir] = true
	}
	for dir := path.Dir(file.Path); redo && dir != "."; dir = path.Dir(dir) {
		above[path.Dir(dir)] = true
	}
	return err
}

// syncDirs makes the names in directories durable, as far as they are there.
func (s *Store) syncDirs(dirs map[string]bool) error {
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if err := s.disk.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
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
func (s *Store) place(staged string, file File) error {
	if err := file.allowed(); err != nil {
		return err
	}
	if err := s.realParents(file.Path); err != nil {
		return err
	}
	now, err := s.sum(file.Path)
	if err != nil || now == file.After {
		return err
	}
	if now != file.Before {
		return &fs.PathError{Op: "publish", Path: file.Path, Err: errMoved}
	}
	if file.From == "" {
		return s.disk.Remove(file.Path)
	}
	err = s.disk.Rename(staged, file.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "publish", Path: file.Path, Err: errGone}
	}
	return err
}

// errGone says that what an operation staged is not there any more.
var errGone = errors.New("the bytes that were to be put there are gone")

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
	if err == nil && st.logOnly {
		st, err = s.restore(st)
	}
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

// restore writes the state file before anything is added to a log that is all
// there is: a line that a crash then leaves torn could not be told from one
// that was acknowledged and damaged.
func (s *Store) restore(st *state) (*state, error) {
	if err := s.rewrite(st); err != nil {
		return nil, cannotWrite(statePath, err)
	}
	again, err := s.load()
	if err == nil {
		again.warnings = append(st.warnings, again.warnings...)
	}
	return again, err
}

func (s *Store) finishPublishing(st *state, pending []fs.DirEntry) error {
	for _, directory := range pending {
		if !directory.IsDir() {
			if err := s.disk.Remove(stagingPath + "/" + directory.Name()); err != nil {
				return err
			}
			continue
		}
		files, committed, err := s.filesOf(directory.Name(), st.generation)
		if err != nil {
			return err
		}
		if committed {
			err := s.publish(directory.Name(), files, true)
			if err != nil && !leavesAlone(err) {
				return err
			}
			if errors.Is(err, errForeign) || errors.Is(err, errGone) {
				st.warnings.Add(errcodes.StateNotRewritten.Warn("path", publishedPath(err), "reason", reason(err)))
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
