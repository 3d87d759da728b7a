package crash

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A power cut takes what was never synced: of a file's bytes all, some or
// none, and of the names in a directory any. The model knows for each file
// the content that is safe and the writes since, and for the whole tree the
// names that are safe and the changes of names since. A sync of a file makes
// its content safe and not its name; a sync of a directory makes safe the
// changes of the names in it, which is the least that POSIX promises. At any
// moment the cuts are all combinations of that.

// Disk is a directory in memory that knows what of it is safe from a power cut.
type Disk struct {
	safe    map[string]*node // names that stay, by path
	now     map[string]*node // names as programs see them
	pending []Call           // changes of names that are not safe, in order
	made    []*node          // of each pending change: what it created, or nil
}

// node is what a name stands for.
type node struct {
	kind   fs.FileMode // 0, fs.ModeDir or fs.ModeSymlink
	perm   fs.FileMode
	safe   []byte // content that stays; the target of a link
	writes []Call // since, in order
}

// subsetsUpTo is the number of unsafe name changes of which every subset is a
// cut; of more, each beginning, all but each one, and each one alone.
const subsetsUpTo = 5

// Load reads a directory, all of which is then safe.
func Load(dir string) (*Disk, error) {
	d := &Disk{safe: map[string]*node{}}
	linked := map[uint64]*node{}
	err := filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		relative, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		n, err := read(at, entry, linked)
		if n != nil {
			d.safe[relative] = n
		}
		return err
	})
	d.now = maps.Clone(d.safe)
	return d, err
}

func read(at string, entry fs.DirEntry, linked map[uint64]*node) (*node, error) {
	info, err := entry.Info()
	if err != nil {
		return nil, err
	}
	n := &node{kind: info.Mode().Type(), perm: info.Mode().Perm()}
	switch {
	case info.IsDir():
	case n.kind == fs.ModeSymlink:
		target, err := os.Readlink(at)
		n.safe = []byte(target)
		return n, err
	case n.kind != 0:
		return nil, nil
	default:
		inode := info.Sys().(*syscall.Stat_t).Ino
		if other, found := linked[inode]; found {
			return other, nil
		}
		linked[inode] = n
		n.safe, err = os.ReadFile(at)
	}
	return n, err
}

// Apply takes in one call. One that was not made changes nothing; a path that
// is not local lies outside and is passed over. No directory is renamed.
func (d *Disk) Apply(c Call) {
	if !c.Made || !filepath.IsLocal(c.Path) {
		return
	}
	switch c.Kind {
	case Create, Mkdir, Symlink, Rename, Link, Remove:
		d.applyName(c)
	case Write, Truncate:
		n := d.now[c.Path]
		if n == nil {
			d.applyName(Call{Kind: Create, Path: c.Path})
			n = d.now[c.Path]
		}
		c.Data = bytes.Clone(c.Data)
		n.writes = append(n.writes, c)
	case Sync:
		d.sync(c.Path)
	}
}

func (d *Disk) applyName(c Call) {
	var n *node
	switch c.Kind {
	case Create:
		if d.now[c.Path] != nil {
			return
		}
		n = &node{perm: 0o644}
	case Mkdir:
		n = &node{kind: fs.ModeDir, perm: 0o755}
	case Symlink:
		n = &node{kind: fs.ModeSymlink, safe: []byte(c.To)}
	}
	rename(d.now, c, n)
	d.pending, d.made = append(d.pending, c), append(d.made, n)
}

// rename changes names as c says; n is what c creates, if it does.
func rename(names map[string]*node, c Call, n *node) {
	old, found := names[c.Path]
	switch {
	case n != nil:
		names[c.Path] = n
	case c.Kind == Link && found:
		names[c.To] = old
	case c.Kind == Remove:
		delete(names, c.Path)
	case c.Kind == Rename && found && old != names[c.To]: // two names of one file stay
		delete(names, c.Path)
		names[c.To] = old
	}
}

func (d *Disk) sync(at string) {
	if n := d.now[at]; n != nil && n.kind == 0 {
		n.safe, n.writes = n.content(everything), nil
		return
	}
	var left []Call
	var made []*node
	for i, c := range d.pending {
		if path.Dir(c.Path) == at || c.To != "" && c.Kind != Symlink && path.Dir(c.To) == at {
			rename(d.safe, c, d.made[i])
		} else {
			left, made = append(left, c), append(made, d.made[i])
		}
	}
	d.pending, d.made = left, made
}

// survival is what a power cut leaves of writes that were not synced.
type survival int

const (
	nothing    survival = iota
	everything          // all of them
	half                // all, but half of the last
	zeros               // the sizes, and zeros for data
	latest              // the last alone: the disk has put it before the others
	survivals
)

var survivalNames = [survivals]string{"none of the data", "all data", "half of the last write", "zeros for data", "the last write alone"}

func (n *node) content(s survival) []byte {
	content := bytes.Clone(n.safe)
	for i, c := range n.writes {
		last := i == len(n.writes)-1
		data := c.Data
		switch {
		case s == nothing || s == latest && !last:
			continue
		case s == half && last:
			data = data[:len(data)/2]
		case s == zeros:
			data = make([]byte, len(data))
		}
		if c.Kind == Truncate {
			content = resize(content, c.At)
			continue
		}
		content = resize(content, max(int64(len(content)), c.At+int64(len(data))))
		copy(content[c.At:], data)
	}
	return content
}

func resize(content []byte, size int64) []byte {
	if size <= int64(len(content)) {
		return content[:size]
	}
	return append(content, make([]byte, size-int64(len(content)))...)
}

// Cut is one state that a power cut may leave.
type Cut struct {
	What  string // what was lost, for the message of a test
	names map[string]*node
	data  survival
}

// Cuts yields every state that a power cut could leave now, one of which is
// that nothing is lost.
func (d *Disk) Cuts() iter.Seq[Cut] {
	return func(yield func(Cut) bool) {
		for kept := range d.choices() {
			names := maps.Clone(d.safe)
			for i, c := range d.pending {
				if kept[i] {
					rename(names, c, d.made[i])
				}
			}
			for s := range survivals {
				if !yield(Cut{d.what(kept, s), names, s}) {
					return
				}
			}
		}
	}
}

// choices yields which of the pending changes of names survive.
func (d *Disk) choices() iter.Seq[[]bool] {
	n := len(d.pending)
	return func(yield func([]bool) bool) {
		if n <= subsetsUpTo {
			for bits := range 1 << n {
				if !yield(choose(n, func(i int) bool { return bits>>i&1 == 1 })) {
					return
				}
			}
			return
		}
		for at := range n + 1 {
			for _, keep := range []func(int) bool{
				func(i int) bool { return i < at }, func(i int) bool { return i != at }, func(i int) bool { return i == at },
			} {
				if !yield(choose(n, keep)) {
					return
				}
			}
		}
	}
}

func choose(n int, keep func(int) bool) []bool {
	kept := make([]bool, n)
	for i := range kept {
		kept[i] = keep(i)
	}
	return kept
}

func (d *Disk) what(kept []bool, s survival) string {
	var lost []string
	for i, c := range d.pending {
		if !kept[i] {
			lost = append(lost, strings.TrimSpace(c.Kind+" "+c.Path+" "+c.To))
		}
	}
	return fmt.Sprintf("%s; lost: %s", survivalNames[s], strings.Join(lost, ", "))
}

// paths are the names of the cut whose directories are there too, parents first.
func (c Cut) paths() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.names)), func(name string) bool {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if above := c.names[dir]; above == nil || above.kind != fs.ModeDir {
				return true
			}
		}
		return false
	})
}

// Sum is the same for cuts that leave the same.
func (c Cut) Sum() [sha256.Size]byte {
	hash := sha256.New()
	for _, name := range c.paths() {
		n := c.names[name]
		content := n.content(c.data)
		fmt.Fprintf(hash, "%q %v %d %p\n", name, n.kind, len(content), n)
		hash.Write(content)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// Write makes the cut in dir, which is made anew.
func (c Cut) Write(dir string) error {
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		return err
	}
	written := map[*node]string{}
	for _, name := range c.paths() {
		n, at := c.names[name], filepath.Join(dir, name)
		var err error
		switch first, again := written[n]; {
		case n.kind == fs.ModeDir:
			err = os.Mkdir(at, 0o755)
		case n.kind == fs.ModeSymlink:
			err = os.Symlink(string(n.safe), at)
		case again:
			err = os.Link(first, at)
		default:
			written[n] = at
			err = os.WriteFile(at, n.content(c.data), n.perm|0o200)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
