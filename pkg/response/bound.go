package response

import (
	"math"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
)

// How an answer is brought under the bound. Agents read answers into a
// context that is small and dear, so a line of JSON has at most 20 KB. What is
// too long is made shorter step by step, no further than it has to be:
//
//  1. A string over 2 KB inside an element of a list is cut: a list is an
//     overview, and one long element must not push out the others.
//  2. The longest list or string (outside of lists) is shortened, then the
//     next longest. Lists lose elements from the front, where the oldest
//     are, and keep the last one; strings keep their first KB.
//  3. Strings and lists anywhere are shortened, to 128 bytes and one element
//     in the end.
//  4. Whole members are taken out, the largest first.
//
// Nothing goes silently. Beside a list stands omitted, how many elements were
// lost there. In data, in error.details and in the envelope (for message and
// warnings) truncated names what else is shorter than it was, by dotted paths,
// and next is the command that shows it all. Where count told how many
// objects a list of data has, it tells how many are left. Where data is one
// page of a list, next leads to the page before, which ends where this one now
// begins; any other next that data had gives way, since what it leads to would
// be cut as well. A command is never cut: half a command is worse than none.

// bound is the size of the longest answer in bytes, its newline included.
const bound = 20 << 10

// mostPaths is how many paths truncated names; a last one "…" stands for more.
const mostPaths = 20

// reduction is an answer that is being made shorter.
type reduction struct {
	root, data, details *node
	full                string        // the command that shows all, "" for none
	before              map[*node]int // what omitted told from the beginning

	listed *node // the list of data whose length count tells, or nil
	page   func(id string) string
	next   string // of data, as it was made here
}

// reduce returns line, made shorter so that it fits the bound with its
// newline. page makes the command that shows the page before, nil for none.
func reduce(line []byte, full string, page func(id string) string) []byte {
	root := parseNode(gjson.Result{}, gjson.ParseBytes(line))
	r := &reduction{root: root, before: map[*node]int{}, data: root.member("data"), details: root.member("error").member("details"), full: full, page: page}
	r.listed = r.counted()
	r.clipElements()
	for r.excess() > 0 && r.shortenLongest() {
	}
	for limit := 512; limit >= 128 && r.excess() > 0; limit /= 2 {
		clipAll(r.root, limit, limit/128)
	}
	for r.excess() > 0 && r.takeOut() {
	}
	return root.appendTo(make([]byte, 0, bound))
}

// counted finds the list of objects of data whose length count tells.
func (r *reduction) counted() *node {
	count := r.data.member("count")
	if count == nil {
		return nil
	}
	i := slices.IndexFunc(r.data.kids, func(n *node) bool {
		return n.open == '[' && len(n.kids) > 0 && n.kids[0].open == '{' && count.raw == strconv.Itoa(len(n.kids))
	})
	if i < 0 {
		return nil
	}
	return r.data.kids[i]
}

// excess tells what is missing and returns how many bytes are too many.
func (r *reduction) excess() int {
	r.tell()
	return r.root.size() + 1 - bound
}

// places calls visit for every list and string that can be shortened and is
// not inside of a list, with the object that it stands in.
func (r *reduction) places(visit func(parent, n *node)) {
	var walk func(parent *node)
	walk = func(parent *node) {
		for _, n := range parent.kids {
			switch {
			case report(n):
			case n.open == '{':
				walk(n)
			case n.open == '[' || n.isText():
				visit(parent, n)
			}
		}
	}
	walk(r.root)
}

// report reports whether a member tells what is missing.
func report(n *node) bool {
	switch n.name {
	case "omitted":
		return n.open == 0 && !n.isText()
	case "truncated":
		return n.open == '[' && len(n.kids) <= mostPaths+1
	default:
		return n.name == "next"
	}
}

func (r *reduction) clipElements() {
	r.places(func(_, list *node) {
		for _, element := range list.kids {
			if element.open != 0 {
				clipAll(element, 2<<10, math.MaxInt)
			}
		}
	})
}

// clipAll shortens every string below n to limit bytes and every list to keep elements.
func clipAll(n *node, limit, keep int) {
	for _, kid := range n.kids {
		switch {
		case n.open == '{' && report(kid):
		case kid.open == '[':
			kid.shed(math.MaxInt, keep)
			clipAll(kid, limit, keep)
		case kid.open == '{':
			clipAll(kid, limit, keep)
		default:
			kid.clip(limit)
		}
	}
}

// shortenLongest shortens the longest place by what is too much; false when
// there is none left that it may shorten.
func (r *reduction) shortenLongest() bool {
	const shortest = 1 << 10
	var longest *node
	most := 0
	r.places(func(_, n *node) {
		shorter := n.open == '[' && len(n.kids) > 1 || n.isText() && len(n.raw) > shortest
		if size := n.size(); shorter && size > most {
			longest, most = n, size
		}
	})
	switch {
	case longest == nil:
		return false
	case longest.open == '[':
		longest.shed(r.excess(), 1)
	default:
		longest.clip(max(len(longest.raw)-r.excess(), shortest))
	}
	return true
}

// identity returns the id of an element: the first string in it.
func identity(element *node) string {
	for _, member := range element.kids {
		if member.isText() {
			return member.text()
		}
	}
	return ""
}

// takeOut takes out the largest members until enough is gone; false when
// nothing is left to take. Lists stay as empty ones.
func (r *reduction) takeOut() bool {
	type member struct {
		scope, n *node
		size     int
	}
	var members []member
	for _, scope := range r.scopes() {
		for _, n := range scope.kids {
			if !r.promised(scope, n) && !r.pointer(n) && !(n.open == '[' && len(n.kids) == 0) {
				members = append(members, member{scope, n, n.size() + 1})
			}
		}
	}
	slices.SortStableFunc(members, func(a, b member) int { return b.size - a.size })
	taken, excess := map[*node]bool{}, r.excess()
	for i, freed := 0, 0; i < len(members) && freed < excess; i++ {
		m := members[i]
		freed += m.size
		if m.n.open == '[' && m.n.name != "next" {
			m.n.shed(math.MaxInt, 0)
			continue
		}
		taken[m.n] = true
		m.scope.gone = append(m.scope.gone, m.n.name)
	}
	for _, scope := range r.scopes() {
		scope.kids = slices.DeleteFunc(scope.kids, func(n *node) bool { return taken[n] })
	}
	return len(members) > 0
}

// promised reports whether every response, every error or every reduced
// answer has the member n in scope.
func (r *reduction) promised(scope, n *node) bool {
	switch n.name {
	case "success", "data", "error":
		return scope == r.root
	case "hint", "retryable", "effect", "operation":
		return scope == r.details && n.open == 0
	default:
		return n.name != "next" && report(n)
	}
}
