package objects

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

// plant makes files beneath dir: a name that ends in "/" is a directory, a
// content "->x" a link to x, "|" a FIFO, "*x" an executable file.
func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		target, isLink := strings.CutPrefix(content, "->")
		program, isProgram := strings.CutPrefix(content, "*")
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(at, 0o755)
		case isLink:
			err = os.Symlink(target, at)
		case content == "|":
			err = syscall.Mkfifo(at, 0o644)
		case isProgram:
			err = os.WriteFile(at, []byte(program), 0o700)
		default:
			err = os.WriteFile(at, []byte(content), 0o664)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTakeGivesEqualTreesEqualIDs(t *testing.T) {
	_, root, path := newStore(t)
	files := map[string]string{"b.md": "two", "a/c.md": "<three> & \u2028", "a.md": "one", "run": "*#!", "l": "->a/c.md"}
	plant(t, filepath.Join(path, "threads/x/artifacts"), files)
	plant(t, filepath.Join(path, "threads/y/artifacts"), files)
	plant(t, filepath.Join(path, "threads/y/artifacts"), map[string]string{"empty/": ""})
	os.Chmod(filepath.Join(path, "threads/y/artifacts/b.md"), 0o600)
	first, warnings, err := Take(&storage.Disk{Root: root}, "threads/x/artifacts", nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	second, _, err := Take(&storage.Disk{Root: root}, "threads/y/artifacts", nil)
	if err != nil {
		t.Fatal(err)
	}
	if first.ID != second.ID {
		t.Error("the same files gave two ids")
	}
	if want := []string{"a.md", "a/c.md", "b.md", "l", "run"}; !slices.Equal(first.Paths(), want) {
		t.Errorf("paths %v, want %v", first.Paths(), want)
	}
	const known = "70f0246399e1e37ae05f3181138411b80884e725b276f02e7c25094f5475a086"
	if text, _ := Read(root, first.ID); first.ID != known {
		t.Errorf("the manifest is %q, its id %s; stores in use have %s for it", text, first.ID, known)
	}
	back, err := Load(root, first.ID)
	if err != nil || !slices.Equal(back.Entries, first.Entries) || back.Whole(root) != nil {
		t.Errorf("Load gives %v, %v", back, err)
	}
	entry, _ := back.Entry("run")
	link, _ := back.Entry("l")
	if entry.Mode != 0o755 || link.Mode != fs.ModeSymlink {
		t.Errorf("modes %v and %v", entry.Mode, link.Mode)
	}
}

func TestMeasureAgreesWithTakeAndWritesNothing(t *testing.T) {
	_, root, path := newStore(t)
	plant(t, filepath.Join(path, "threads/x/artifacts"), map[string]string{"a": "1", "d/b": "2"})
	measured, _, err := Measure(root, "threads/x/artifacts", []string{"d"})
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(path, "objects/*/*")); len(left) > 0 {
		t.Errorf("Measure wrote %v", left)
	}
	taken, _, err := Take(&storage.Disk{Root: root}, "threads/x/artifacts", []string{"d"})
	if err != nil || taken.ID != measured.ID || !slices.Equal(taken.Paths(), []string{"d/b"}) {
		t.Errorf("Take gives %v, %v; Measure %v", taken, err, measured)
	}
}

func TestTakeLeavesOutWhatIsNoFileOfTheTree(t *testing.T) {
	_, root, path := newStore(t)
	plant(t, filepath.Join(path, "threads/y/artifacts"), map[string]string{"secret": "s"})
	plant(t, filepath.Join(path, "threads/x/artifacts"), map[string]string{
		"good": "1", "pipe": "|", "abs": "->/etc/hostname", "up": "->../../y/artifacts/secret", "d/in": "->../good",
		"dangling": "->nothing", "loop": "->loop", "dir": "->d", "via": "->dir/../../secret", "bad\x01name": "x", "d/out": "->../../../../x",
	})
	snapshot, warnings, err := Take(&storage.Disk{Root: root}, "threads/x/artifacts", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"d/in", "dangling", "dir", "good"}; !slices.Equal(snapshot.Paths(), want) {
		t.Errorf("taken %v, want %v", snapshot.Paths(), want)
	}
	var left []string
	for _, w := range warnings {
		if w.Code != errcodes.ArtifactLeftOut || w.Context[0].Value != "x" {
			t.Errorf("warning %v", w)
		}
		left = append(left, w.Context[1].Value.(string))
	}
	slices.Sort(left)
	if want := []string{"abs", "bad\uFFFDname", "d/out", "loop", "pipe", "up", "via"}; !slices.Equal(left, want) {
		t.Errorf("left out %q, want %q", left, want)
	}
}

func TestTakeOfNothingAndOfNoDirectory(t *testing.T) {
	_, root, path := newStore(t)
	empty, _, err := Take(&storage.Disk{Root: root}, "threads/none/artifacts", nil)
	if err != nil || len(empty.Entries) != 0 || !Valid(empty.ID) {
		t.Errorf("a tree that does not exist: %v, %v", empty, err)
	}
	plant(t, path, map[string]string{"threads/real/artifacts/f": "1", "threads/link/artifacts": "->../real/artifacts", "threads/alias": "->real", "threads/file/artifacts": "x"})
	for _, tree := range []string{"threads/link/artifacts", "threads/alias/artifacts", "threads/file/artifacts"} {
		if _, _, err := Take(&storage.Disk{Root: root}, tree, nil); err == nil || errcodes.Of(err).Code != errcodes.WriteFailed {
			t.Errorf("Take(%s) = %v, not T503", tree, err)
		}
	}
}

func TestLoadRefusesWhatIsNoManifest(t *testing.T) {
	_, root, _ := newStore(t)
	sum := Hash(nil)
	for _, text := range []string{
		"", "{}", heading, heading + "\n{",
		heading + "\n" + `{"path":"../x","sha256":"` + sum + `","kind":"file"}` + "\n",
		heading + "\n" + `{"path":"x","sha256":"` + sum + `","kind":"device"}` + "\n",
		heading + "\n" + `{"path":"x","sha256":"short","kind":"file"}` + "\n",
		heading + "\n" + strings.Repeat(`{"path":"x","sha256":"`+sum+`","kind":"file"}`+"\n", 2),
	} {
		id, _ := Put(&storage.Disk{Root: root}, []byte(text))
		if _, err := Load(root, id); err == nil || errcodes.Of(err).Code != errcodes.ReadFailed {
			t.Errorf("Load of %q = %v, not T506", text, err)
		}
	}
}
