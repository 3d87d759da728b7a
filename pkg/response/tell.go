package response

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/leslie-sh/leslie/errcodes"
)

// scopes lists the objects that tell what they have lost: data, details, and
// the envelope for the rest.
func (r *reduction) scopes() []*node {
	return slices.DeleteFunc([]*node{r.data, r.details, r.root}, func(n *node) bool { return n == nil })
}

// tell writes down what is missing so far.
func (r *reduction) tell() {
	r.count(r.root)
	if r.listed != nil && r.listed.lost > 0 && r.data.member("count") != nil {
		r.data.member("count").raw = strconv.Itoa(len(r.listed.kids))
	}
	for _, scope := range r.scopes() {
		var paths []string
		for _, name := range scope.gone[:min(len(scope.gone), mostPaths+1)] {
			paths = append(paths, legible(name))
		}
		paths = r.shortened(scope, "", paths)
		if len(paths) > mostPaths {
			paths = append(paths[:mostPaths], "…")
		}
		if len(paths) > 0 {
			scope.put("truncated", textList(paths))
		}
		if len(paths) > 0 || scope.member("omitted") != nil {
			r.pointTo(scope)
		}
	}
}

// count writes beside every list that lost elements how many they were.
func (r *reduction) count(n *node) {
	lost := 0
	for _, kid := range n.kids {
		lost += kid.lost
		r.count(kid)
	}
	if n.open != '{' || lost == 0 {
		return
	}
	before, known := r.before[n]
	if m := n.member("omitted"); !known && m != nil {
		before, _ = strconv.Atoi(m.raw)
	}
	r.before[n] = before
	n.put("omitted", node{raw: strconv.Itoa(before + lost)})
}

// shortened adds to paths where strings below n are cut, and where lists lost
// elements that are not counted beside a list of the scope itself.
func (r *reduction) shortened(n *node, path string, paths []string) []string {
	for i, kid := range n.kids {
		name := kid.name
		if n.open == '[' {
			name = strconv.Itoa(i)
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		if kid.cut || kid.lost > 0 && path != "" {
			paths = append(paths, legible(at))
		}
		if kid != r.data && kid != r.details && len(paths) <= mostPaths {
			paths = r.shortened(kid, at, paths)
		}
	}
	return paths
}

// legible keeps a path short also in its encoding.
func legible(path string) string {
	return errcodes.Clip(strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, path))
}

// pointTo names the command that shows what scope lost.
func (r *reduction) pointTo(scope *node) {
	next := scope.member("next")
	switch {
	case scope == r.data && (next == nil || next.isText()):
		if following := r.following(next.text()); following != next.text() {
			r.next = following
			scope.put("next", *textNode(following))
		}
	case r.full == "":
	case scope == r.details && next == nil:
		scope.put("next", textList([]string{r.full}))
	case scope == r.details && !slices.ContainsFunc(next.kids, func(n *node) bool { return n.text() == r.full }):
		next.kids = append(next.kids, textNode(r.full))
	}
}

// following returns the command that goes on from data, which had next.
func (r *reduction) following(next string) string {
	if r.page != nil && r.listed != nil && r.listed.lost > 0 && len(r.listed.kids) > 0 {
		if page := r.page(identity(r.listed.kids[0])); len(page) <= longestPointer {
			return page
		}
	}
	switch {
	case r.page == nil && r.full != "", next == "":
		return r.full
	default:
		return next
	}
}

// pointer reports whether n is nothing but the next that pointTo made.
func (r *reduction) pointer(n *node) bool {
	if n.name != "next" {
		return false
	}
	made := func(n *node) bool { return n.text() != "" && (n.text() == r.full || n.text() == r.next) }
	return made(n) || len(n.kids) == 1 && made(n.kids[0])
}
