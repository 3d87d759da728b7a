package objects

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/leslie-sh/leslie/errcodes"
)

// CheckID returns T903 unless id is 1 to 64 letters, digits, '_' and '-' that
// begin with a letter or digit: what every id of a store looks like, and
// what can never be a path.
func CheckID(id string) error {
	if isID(id) {
		return nil
	}
	return errcodes.Usage.With("problem", "'"+Printable(id)+"' is not an id: 1 to 64 letters, digits, '_' and '-', beginning with a letter or digit")
}

func isID(id string) bool {
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '-' && c != '_') {
			return false
		}
	}
	return id != "" && len(id) <= 64
}

// The longest path and the longest segment of a path, in bytes.
const (
	longestPath    = 1024
	longestSegment = 255
)

// CheckPath returns T903 unless path can name a file of a tree: relative,
// segments between single slashes, none of them empty, "." or "..", without
// control and bidirectional characters, at most 1024 bytes, each segment 255.
func CheckPath(path string) error {
	if problem := wrong(path); problem != "" {
		return errcodes.Usage.With("problem", "the path '"+Printable(path)+"' "+problem)
	}
	return nil
}

func wrong(path string) string {
	switch {
	case path == "":
		return "is empty"
	case len(path) > longestPath:
		return "is longer than 1024 bytes"
	case !utf8.ValidString(path):
		return "is not valid UTF-8"
	case strings.HasPrefix(path, "/"):
		return "is absolute; give one inside the thread's artifacts"
	case strings.ContainsFunc(path, Hidden):
		return "has control or bidirectional characters"
	}
	for segment := range strings.SplitSeq(path, "/") {
		switch {
		case segment == "..":
			return "leaves the thread"
		case segment == "" || segment == ".":
			return "has an empty or '.' segment"
		case len(segment) > longestSegment:
			return "has a segment longer than 255 bytes"
		}
	}
	return ""
}

// Hidden reports whether r is a control or bidirectional character: one that
// changes how the text around it is shown without being seen.
func Hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Printable returns a caller's value for a sentence: clipped, valid UTF-8,
// hidden characters replaced.
func Printable(value string) string {
	shown := strings.ToValidUTF8(errcodes.Clip(value), "\uFFFD")
	return strings.Map(func(r rune) rune {
		if Hidden(r) {
			return '\uFFFD'
		}
		return r
	}, shown)
}

// ArtifactsDir returns where the artifacts of a thread are, relative to the store.
func ArtifactsDir(threadID string) string { return "threads/" + threadID + "/artifacts" }

// owner returns the thread whose tree this is.
func owner(tree string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(tree, "threads/"), "/")
	return id
}
