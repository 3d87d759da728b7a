package command

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/leslie-sh/leslie/errcodes"
)

// checkOut refuses what is no name of a file for --out.
func checkOut(name string) error {
	if name == "" || name == "-" {
		return usageError("--out needs the name of a file", "--out").
			Having("hint", "Name a file, or print the bytes on stdout with --get content in place of --out")
	}
	return nil
}

// writeOut writes content to the file called name and returns its absolute
// path. A file is replaced whole or not at all and keeps its mode; where name
// is a symbolic link, the one it leads to. A device, a pipe or a socket is
// written to. Codes: T503, T903 for a file of the store, T904.
func (c *call) writeOut(name string, content []byte) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", cannotWrite(name, err)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return "", cannotWrite(path, syscall.EISDIR)
	case err == nil && !info.Mode().IsRegular():
		return path, writeThrough(c.ctx, path, content)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", cannotWrite(path, err)
	}
	target, err := followLinks(path)
	if err != nil {
		return "", cannotWrite(path, err)
	}
	if within(filepath.Dir(target), c.path()) {
		return "", usageError("--out names a file of the store, which only leslie writes", "--out").
			Having("hint", "Name a file outside of "+storeName+", or change the artifact with leslie artifact put")
	}
	if err := replaceFile(target, info, content); err != nil {
		return "", cannotWrite(path, err)
	}
	return path, nil
}

// mostLinks is how many symbolic links in a row are followed.
const mostLinks = 40

// followLinks returns the file that path leads to, which need not exist.
func followLinks(path string) (string, error) {
	for range mostLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		leads, err := os.Readlink(path)
		if err != nil {
			return path, nil
		}
		path = resolve(dir, leads)
	}
	return "", syscall.ELOOP
}

// within reports whether dir is the directory called above or below it, by
// whatever names.
func within(dir, above string) bool {
	top, err := os.Stat(above)
	if err != nil {
		return false
	}
	for {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, top) {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// replaceFile puts content in the place of the file at path, which info
// describes where there is one.
func replaceFile(path string, info fs.FileInfo, content []byte) error {
	file, err := os.OpenFile(filepath.Join(filepath.Dir(path), ".leslie-"+strconv.FormatUint(rand.Uint64(), 36)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	for _, step := range []func() error{func() error { return takeOver(file, info) }, file.Sync, file.Close} {
		if err == nil {
			err = step()
		}
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		file.Close()
		os.Remove(file.Name())
	}
	return err
}

// takeOver gives file the mode of the one that it replaces and, as far as
// this process may, its owner.
func takeOver(file *os.File, replaced fs.FileInfo) error {
	if replaced == nil {
		return nil
	}
	if stat, ok := replaced.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(stat.Uid), int(stat.Gid))
	}
	return file.Chmod(replaced.Mode().Perm())
}

// writeThrough writes content to what is no regular file. It ends when ctx
// does, also where nobody reads at the other end of a pipe.
func writeThrough(ctx context.Context, path string, content []byte) error {
	file, err := await(ctx, func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) })
	if errors.Is(err, errcodes.Interrupted) {
		return err
	}
	if err != nil {
		return cannotWrite(path, err)
	}
	_, err = await(ctx, func() (int, error) {
		n, err := file.Write(content)
		return n, errors.Join(err, file.Close())
	})
	if err == nil {
		return nil
	}
	if !errors.Is(err, errcodes.Interrupted) {
		err = cannotWrite(path, err)
	}
	failed := *errcodes.Of(err)
	failed.Effect = errcodes.Partial
	return &failed
}

func cannotWrite(path string, err error) error {
	return errcodes.WriteFailed.With("path", errcodes.Clip(path), "reason", cause(err)).Because(err)
}
