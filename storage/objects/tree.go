package objects

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/leslie-sh/leslie/errcodes"
)

// Faults of what is found in a tree. They are the reason of a coded error,
// never what a room returns by itself.
var (
	ErrNotRegular = errors.New("it is no regular file")
	ErrIsDir      = errors.New("it is a directory")
	ErrNotDir     = errors.New("a part of its path is no directory")
	ErrLeaves     = errors.New("it is a symbolic link that leaves the thread")
	ErrManyLinks  = errors.New("too many symbolic links")
)

// reason says what went wrong without repeating the path.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err.Error()
	}
	return err.Error()
}

// OpenTree opens the directory tree of the store at dir. Every part of its
// path must be a real directory, never a symbolic link, so that what is
// opened beneath it stays there: anything else is T503. A tree that does not
// exist is fs.ErrNotExist.
func OpenTree(dir *os.Root, tree string) (*os.Root, error) {
	if err := realDirs(dir, tree); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, unwritable(tree, err)
	}
	root, err := dir.OpenRoot(tree)
	if err != nil {
		return nil, unreadable(tree, reason(err), err)
	}
	return root, nil
}

func realDirs(dir *os.Root, tree string) error {
	at := ""
	for segment := range strings.SplitSeq(tree, "/") {
		at = path.Join(at, segment)
		info, err := dir.Lstat(at)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s: %w", at, ErrNotDir)
		}
	}
	return nil
}

// Follow returns the path that name stands for after every symbolic link in
// it was followed, by the rule of the file system: part by part, where ".."
// goes up from where a link led. link gives the target of a path that is a
// symbolic link, and false for anything else, also for nothing. A path that
// leaves the tree is ErrLeaves.
func Follow(name string, link func(at string) (target string, is bool)) (string, error) {
	todo := strings.Split(name, "/")
	var done []string
	for links := 0; len(todo) > 0; {
		segment := todo[0]
		todo = todo[1:]
		switch segment {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", ErrLeaves
			}
			done = done[:len(done)-1]
			continue
		}
		done = append(done, segment)
		target, is := link(strings.Join(done, "/"))
		if !is {
			continue
		}
		if links++; links > 40 {
			return "", ErrManyLinks
		}
		if target == "" || strings.HasPrefix(target, "/") {
			return "", ErrLeaves
		}
		done = done[:len(done)-1]
		todo = append(strings.Split(target, "/"), todo...)
	}
	return path.Join(done...), nil
}

// Links gives the symbolic links of root in the form that Follow takes.
func Links(root *os.Root) func(at string) (string, bool) {
	return func(at string) (string, bool) {
		info, err := root.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return "", false
		}
		target, err := root.Readlink(at)
		return target, err == nil
	}
}

// ReadFile returns the content of the regular file that name leads to within
// root, also through symbolic links that stay there. It never waits for
// anything but the disk. Where it cannot it returns ErrLeaves, ErrManyLinks,
// ErrIsDir, ErrNotDir, ErrNotRegular, fs.ErrNotExist or what the system said.
func ReadFile(root *os.Root, name string) ([]byte, error) {
	real, err := Follow(name, Links(root))
	if err != nil {
		return nil, err
	}
	if real == "" {
		return nil, ErrIsDir
	}
	return readRegular(root, real)
}

func readRegular(root *os.Root, name string) ([]byte, error) {
	file, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// openRegular opens name for reading, unless it is anything but a regular
// file: a FIFO would block, a device could do anything.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, ErrNotDir
	}
	if err != nil {
		return nil, err
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	// It may have become something else since: O_NONBLOCK, and a second look.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil {
		err = regular(info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return ErrIsDir
	case !info.Mode().IsRegular():
		return ErrNotRegular
	}
	return nil
}

// Fault gives what ReadFile and KeepFile found wrong with a path its code:
// T903 where the path is not one of a file of the tree, else T506. One that
// has a code keeps it.
func Fault(name string, err error) error {
	var coded *errcodes.Error
	if errors.As(err, &coded) {
		return err
	}
	for _, fault := range []error{ErrLeaves, ErrManyLinks, ErrIsDir, ErrNotRegular, ErrNotDir} {
		if errors.Is(err, fault) {
			return errcodes.Usage.With("problem", "'"+Printable(name)+"' cannot be used: "+fault.Error()).Because(err)
		}
	}
	return unreadable(Printable(name), reason(err), err)
}
