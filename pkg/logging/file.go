package logging

import (
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// directory is where the logs stand within a store.
const directory = "logs"

var errRefused = errors.New("not a regular file of the store")

// names returns the files of a record, relative to the store.
func names(about About) []string {
	all := []string{path.Join(directory, "leslie.log")}
	if ident(about.ThreadID) && ident(about.ObjectiveID) {
		all = append(all, path.Join(directory, about.ObjectiveID, about.ThreadID+".log"))
	}
	return all
}

// Files returns the paths of the logs of the store that concern about: that
// of the thread; without a thread those of the objective's threads, as far as
// they exist; without either the log of the whole store.
func Files(store string, about About) []string {
	switch {
	case about.ThreadID == "" && about.ObjectiveID == "":
		return []string{filepath.Join(store, directory, "leslie.log")}
	case !ident(about.ObjectiveID):
		return nil
	case about.ThreadID == "":
		found, _ := filepath.Glob(filepath.Join(store, directory, about.ObjectiveID, "*.log"))
		return found
	case !ident(about.ThreadID):
		return nil
	}
	return []string{filepath.Join(store, directory, about.ObjectiveID, about.ThreadID+".log")}
}

// ident reports whether id can be a name of a file: ids are checked before,
// this is the second lock.
func ident(id string) bool {
	if id == "" || len(id) > 64 || id[0] == '-' || id[0] == '_' {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// appendFile is a log that is open for appending whole lines.
type appendFile struct{ file *os.File }

// openAppend opens a log of the store, which it makes with its directories
// where they are missing. Symbolic links, FIFOs and whatever else is no
// regular file are refused.
func openAppend(store, name string) (*appendFile, error) {
	if info, err := os.Lstat(store); err != nil || !info.IsDir() {
		return nil, errRefused
	}
	root, err := os.OpenRoot(store)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := makeDirs(root, path.Dir(name)); err != nil {
		return nil, err
	}
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, errRefused
	}
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errRefused
	}
	return &appendFile{f}, nil
}

func makeDirs(root *os.Root, name string) error {
	made := ""
	for segment := range strings.SplitSeq(name, "/") {
		made = path.Join(made, segment)
		err := root.Mkdir(made, 0o755)
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if info, err := root.Lstat(made); err != nil || !info.IsDir() {
			return errRefused
		}
	}
	return nil
}

// Write appends line by one write. Where a full disk had cut the last line,
// it begins a new one.
//
// The end of a file that another process is writing to looks just like a cut
// line. So writers share a lock, and only who gets it alone, which proves that
// nobody is writing, believes that it sees a cut. Nobody waits for the lock:
// an append is whole without it.
func (a *appendFile) Write(line []byte) (int, error) {
	if a.cut() && a.lock(syscall.LOCK_EX) {
		if a.cut() {
			line = append([]byte("\n"), line...)
		}
	} else {
		a.lock(syscall.LOCK_SH)
	}
	return a.file.Write(line)
}

// lock takes the lock that Close gives back, unless it would have to wait.
func (a *appendFile) lock(how int) bool {
	return syscall.Flock(int(a.file.Fd()), how|syscall.LOCK_NB) == nil
}

func (a *appendFile) cut() bool {
	end, err := a.file.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return false
	}
	var last [1]byte
	_, err = a.file.ReadAt(last[:], end-1)
	return err == nil && last[0] != '\n'
}

// Close closes the file.
func (a *appendFile) Close() error { return a.file.Close() }
