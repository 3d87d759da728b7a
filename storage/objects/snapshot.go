package objects

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
)

// Entry is one file of a snapshot. Mode is 0644, 0755 (the owner may execute
// it) or fs.ModeSymlink, whose content is the text of its target.
type Entry struct {
	Path   string
	SHA256 string
	Bytes  int64
	Mode   fs.FileMode
}

// Snapshot is the state of a tree: its files sorted by path. ID is the object
// that holds the manifest.
type Snapshot struct {
	ID      string
	Entries []Entry
}

// Entry returns the file at path, and whether there is one.
func (s Snapshot) Entry(path string) (Entry, bool) {
	i, found := slices.BinarySearchFunc(s.Entries, path, func(e Entry, path string) int {
		return strings.Compare(e.Path, path)
	})
	if !found {
		return Entry{}, false
	}
	return s.Entries[i], true
}

// Paths returns the paths of the files, sorted; never nil.
func (s Snapshot) Paths() []string {
	paths := make([]string, len(s.Entries))
	for i, entry := range s.Entries {
		paths[i] = entry.Path
	}
	return paths
}

// The manifest: a heading, then one JSON object a line. The same entries give
// the same bytes, on every machine.
const heading = `{"leslie":"snapshot","version":1}`

type line struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Kind   string `json:"kind"`
}

var kinds = map[string]fs.FileMode{"file": 0o644, "executable": 0o755, "symlink": fs.ModeSymlink}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	case mode&0o100 != 0:
		return "executable"
	}
	return "file"
}

func manifest(entries []Entry) []byte {
	var out bytes.Buffer
	out.WriteString(heading + "\n")
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for _, e := range entries {
		// A buffer takes everything, and a line has nothing JSON cannot write.
		_ = encoder.Encode(line{Path: e.Path, SHA256: e.SHA256, Bytes: e.Bytes, Kind: kindOf(e.Mode)})
	}
	return out.Bytes()
}

// seal gives sorted entries their id.
func seal(entries []Entry) (Snapshot, []byte) {
	text := manifest(entries)
	return Snapshot{ID: Hash(text), Entries: entries}, text
}

// Load reads a snapshot back. The objects of its files are not looked at.
// What is missing, damaged or no manifest is T506.
func Load(dir *os.Root, id string) (Snapshot, error) {
	text, err := Read(dir, id)
	if err != nil {
		return Snapshot{}, err
	}
	entries, problem := parse(text)
	if problem != "" {
		return Snapshot{}, unreadable(Path(id), "it is no manifest: "+problem, nil)
	}
	return Snapshot{ID: id, Entries: entries}, nil
}

func parse(text []byte) (entries []Entry, problem string) {
	body, found := bytes.CutPrefix(text, []byte(heading+"\n"))
	if !found {
		return nil, "its heading is another"
	}
	entries = []Entry{}
	for row := range bytes.Lines(body) {
		var l line
		if err := json.Unmarshal(row, &l); err != nil {
			return nil, err.Error()
		}
		mode, known := kinds[l.Kind]
		if !known || !Valid(l.SHA256) || wrong(l.Path) != "" {
			return nil, "the line of '" + Printable(l.Path) + "' is not valid"
		}
		if len(entries) > 0 && entries[len(entries)-1].Path >= l.Path {
			return nil, "it is not sorted"
		}
		entries = append(entries, Entry{Path: l.Path, SHA256: l.SHA256, Bytes: l.Bytes, Mode: mode})
	}
	return entries, ""
}

// Whole returns T506 unless every file of s is there as an object with its
// right bytes.
func (s Snapshot) Whole(dir *os.Root) error {
	for _, entry := range s.Entries {
		if !intact(dir, entry.SHA256, entry.Bytes) {
			return errcodes.ReadFailed.With("path", Path(entry.SHA256), "reason", "the object of '"+entry.Path+"' is missing or damaged")
		}
	}
	return nil
}
