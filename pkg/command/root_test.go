package command

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
)

// lay makes directories and files below a new directory: a name that ends in
// a slash is a directory.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		dir := filepath.Dir(path)
		if name[len(name)-1] == '/' {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir == path {
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFindRoot(t *testing.T) {
	at := lay(t, map[string]string{
		"main/.leslie/": "", "main/a/b/": "", "main/a/.leslie/": "", "main/.git/worktrees/wt/commondir": "../..\n",
		"wt/.git": "gitdir: ../main/.git/worktrees/wt\n", "wt/deep/er/": "",
		"module/.git": "gitdir: ../main/.git/modules/module\n", "main/.git/modules/module/config": "",
		"file/.leslie": "no directory", "none/": "",
	})
	if err := os.MkdirAll(filepath.Join(at, "link"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(at, "main", ".leslie"), filepath.Join(at, "link", ".leslie")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, named, root string
		code             errcodes.Code
	}{
		{dir: "main", root: "main"},
		{dir: "main/a/b", root: "main/a"},
		{dir: "wt/deep/er", root: "main"},
		{dir: "none", named: "main", root: "main"},
		{dir: "main/a", named: "main/a/b", code: errcodes.NoStore},
		{dir: "main", named: "nowhere", code: errcodes.NoStore},
		{dir: "none", code: errcodes.NoStore},
		{dir: "module", code: errcodes.NoStore},
		{dir: "file", code: errcodes.WriteFailed},
		{dir: "link", code: errcodes.WriteFailed},
		{dir: "none", named: "link", code: errcodes.WriteFailed},
	} {
		named := ""
		if c.named != "" {
			named = filepath.Join(at, c.named)
		}
		root, err := findRoot(filepath.Join(at, c.dir), named)
		if c.code != "" && !errors.Is(err, c.code) || c.code == "" && (err != nil || root != filepath.Join(at, c.root)) {
			t.Errorf("from %s, named %q: %s, %v", c.dir, c.named, root, err)
		}
	}
}

func TestForeignStoreHasToBeNamed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	at := lay(t, map[string]string{"a/.leslie/": ""})
	if err := os.Chown(filepath.Join(at, "a", ".leslie"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := findRoot(filepath.Join(at, "a"), ""); !errors.Is(err, errcodes.WriteFailed) || !errors.Is(err, errForeign) {
		t.Error(err)
	}
	if _, err := findRoot(at, filepath.Join(at, "a")); err != nil {
		t.Error(err)
	}
}
