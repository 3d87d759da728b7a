package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/leslie-sh/leslie/errcodes"
)

// storeName is the directory that holds everything leslie keeps.
const storeName = ".leslie"

// findRoot returns the absolute path of the directory that holds the store:
// the named one; else the nearest parent of dir that has one; else, in a
// linked git worktree, that of the main worktree. T504 when there is none,
// T503 when what is there may not be used: with errForeign as its cause, and
// the directory, when naming it would be enough.
func findRoot(dir, named string) (string, error) {
	if named != "" {
		root, err := filepath.Abs(named)
		if err != nil {
			return "", errcodes.NoStore.With("path", errcodes.Clip(named)).Because(err)
		}
		if hint, reason := notDirectory(root); reason != "" {
			return "", errcodes.NoStore.With("path", errcodes.Clip(root)).Having("hint", hint, "next", []string{})
		}
		if !hasStore(root) {
			return "", errcodes.NoStore.With("path", errcodes.Clip(root))
		}
		return root, checkStore(root, false)
	}
	if root := nearestStore(dir); root != "" {
		return root, checkStore(root, true)
	}
	if tree := mainWorktree(dir); tree != "" {
		if root := nearestStore(tree); root != "" {
			return root, checkStore(root, true)
		}
	}
	return "", errcodes.NoStore.With("path", errcodes.Clip(dir))
}

// notDirectory says why root cannot hold a store and what to do about it;
// both are "" when it is a directory.
func notDirectory(root string) (hint, reason string) {
	info, err := os.Stat(root)
	switch named := "The directory " + errcodes.Clip(root); {
	case errors.Is(err, fs.ErrNotExist):
		return named + " does not exist: make it first, or name another", "no such directory"
	case err != nil:
		return named + " cannot be reached: name another, or correct its permissions", cause(err)
	case !info.IsDir():
		return errcodes.Clip(root) + " is not a directory: name one", "it is not a directory"
	default:
		return "", ""
	}
}

func hasStore(root string) bool {
	_, err := os.Lstat(filepath.Join(root, storeName))
	return err == nil
}

// nearestStore walks from dir upwards.
func nearestStore(dir string) string {
	for {
		if hasStore(dir) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// errForeign is the cause where a store belongs to another user.
var errForeign = errors.New("the store of another user")

// checkStore refuses a store that is no real directory, and, unless it was
// named, one of another user: whoever can write above a working directory
// could otherwise plant one there.
func checkStore(root string, ownedOnly bool) error {
	path := filepath.Join(root, storeName)
	info, err := os.Lstat(path)
	if err != nil {
		return errcodes.WriteFailed.With("path", path, "reason", err.Error()).Because(err)
	}
	if !info.IsDir() {
		return errcodes.WriteFailed.With("path", path, "reason", "it is not a directory")
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ownedOnly && ok && int(stat.Uid) != os.Getuid() {
		return errcodes.WriteFailed.With("path", path, "reason", "it belongs to another user").
			Having("hint", "Name it with --root "+errcodes.Quote(root)+" to use it all the same").Because(errForeign)
	}
	return nil
}

// mainWorktree returns the main worktree of the linked git worktree around
// dir, or "". There .git is a file that names a directory of the repository,
// and a file commondir in that one leads to what all worktrees share.
func mainWorktree(dir string) string {
	for {
		git := filepath.Join(dir, ".git")
		if info, err := os.Lstat(git); err == nil {
			if !info.Mode().IsRegular() {
				return ""
			}
			return commonWorktree(dir, git)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func commonWorktree(dir, git string) string {
	gitdir, found := strings.CutPrefix(firstLine(git), "gitdir:")
	if !found {
		return ""
	}
	private := resolve(dir, strings.TrimSpace(gitdir))
	common := firstLine(filepath.Join(private, "commondir"))
	if common == "" {
		return ""
	}
	shared := resolve(private, common)
	if filepath.Base(shared) != ".git" {
		return ""
	}
	return filepath.Dir(shared)
}

func resolve(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// firstLine returns the first line of a small regular file, "" without one.
func firstLine(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return ""
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSpace(line)
}
