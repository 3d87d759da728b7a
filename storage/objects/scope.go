package objects

import (
	"path"
	"slices"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
)

// A scope names a file, or a directory with everything beneath it, by whole
// segments: "src" covers src and src/a/b.go, never srcs. A segment may be a
// glob (*, ?, [a-z]), and "**" stands for any number of segments, also none:
// "*.md" covers a.md but not docs/a.md, "**/*.md" covers both. A segment that
// equals the path's is always the same, so that app/[id].tsx can be named.

// Match reports whether scope covers path.
func Match(scope, path string) bool {
	return covers(segments(scope), strings.Split(path, "/"))
}

// Within reports whether one of scopes covers path; no scopes cover everything.
func Within(scopes []string, path string) bool {
	return len(scopes) == 0 || slices.ContainsFunc(scopes, func(scope string) bool { return Match(scope, path) })
}

// segments takes "./src/" for "src"; no segment at all covers everything.
func segments(scope string) []string {
	clean := path.Clean(scope)
	if clean == "." {
		return nil
	}
	return strings.Split(clean, "/")
}

// covers walks both at once and remembers the latest "**", to which it
// returns after a mismatch: an earlier one never has to be tried again.
func covers(scope, name []string) bool {
	s, n := 0, 0
	star, resume := -1, 0
	for s < len(scope) {
		switch {
		case scope[s] == "**":
			star, resume = s, n
			s++
		case n < len(name) && same(scope[s], name[n]):
			s++
			n++
		case star >= 0 && resume < len(name):
			resume++
			s, n = star+1, resume
		default:
			return false
		}
	}
	return true
}

func same(glob, segment string) bool {
	if glob == segment {
		return true
	}
	matched, err := path.Match(glob, segment)
	return err == nil && matched
}

// Overlap reports whether some path can be covered by both scopes. Where two
// globs meet it says yes rather than look for one.
func Overlap(a, b string) bool {
	left, right := segments(a), segments(b)
	for i := range min(len(left), len(right)) {
		if left[i] == "**" || right[i] == "**" {
			return true
		}
		if !meet(left[i], right[i]) {
			return false
		}
	}
	return true
}

func meet(a, b string) bool {
	return same(a, b) || same(b, a) || strings.ContainsAny(a, `*?[`) && strings.ContainsAny(b, `*?[`)
}

// CheckScopes returns T903 unless every scope is a path that CheckPath
// accepts, globs included. "." and a slash at the end are allowed.
func CheckScopes(scopes []string) error {
	if len(scopes) > mostScopes {
		return errcodes.Usage.With("problem", "more than 100 scopes")
	}
	for _, scope := range scopes {
		if scope == "." {
			continue
		}
		if problem := wrong(strings.TrimPrefix(strings.TrimSuffix(scope, "/"), "./")); problem != "" {
			return errcodes.Usage.With("problem", "the scope '"+Printable(scope)+"' "+problem)
		}
	}
	return nil
}

const mostScopes = 100
