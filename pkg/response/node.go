package response

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// node is a JSON value that can be made smaller. It keeps the order of keys.
type node struct {
	key  string // encoded with its quotes, "" for elements
	name string // the key
	raw  string // the encoded value, for what is neither object nor list
	open byte   // '{', '[' or 0
	kids []*node

	lost int      // how many elements it lost
	cut  bool     // whether it is shorter than it was
	gone []string // the members it lost
}

func parseNode(key, value gjson.Result) *node {
	n := &node{key: key.Raw, name: key.Str}
	switch {
	case value.IsObject():
		n.open = '{'
	case value.IsArray():
		n.open = '['
	default:
		n.raw = value.Raw
		return n
	}
	value.ForEach(func(key, kid gjson.Result) bool {
		if n.open == '[' {
			key = gjson.Result{}
		}
		n.kids = append(n.kids, parseNode(key, kid))
		return true
	})
	return n
}

// size returns how many bytes n takes in its encoding, its key included.
func (n *node) size() int {
	size := len(n.raw)
	if n.key != "" {
		size += len(n.key) + 1
	}
	if n.open != 0 {
		size += 2 + max(len(n.kids)-1, 0)
	}
	for _, kid := range n.kids {
		size += kid.size()
	}
	return size
}

func (n *node) appendTo(out []byte) []byte {
	if n.key != "" {
		out = append(append(out, n.key...), ':')
	}
	if n.open == 0 {
		return append(out, n.raw...)
	}
	out = append(out, n.open)
	for i, kid := range n.kids {
		if i > 0 {
			out = append(out, ',')
		}
		out = kid.appendTo(out)
	}
	return append(out, n.open+2) // in ASCII ']' and '}' follow two behind their openers
}

func (n *node) isText() bool { return n.raw != "" && n.raw[0] == '"' }

// text returns the string that n is, "" when it is none.
func (n *node) text() string {
	if n == nil || !n.isText() {
		return ""
	}
	return gjson.Parse(n.raw).Str
}

// member returns the member called name, or nil.
func (n *node) member(name string) *node {
	if n == nil || n.open != '{' {
		return nil
	}
	i := slices.IndexFunc(n.kids, func(kid *node) bool { return kid.name == name })
	if i < 0 {
		return nil
	}
	return n.kids[i]
}

// put makes value the member called name, at the end where there was none.
func (n *node) put(name string, value node) {
	m := n.member(name)
	if m == nil {
		m = &node{}
		n.kids = append(n.kids, m)
	}
	value.key, value.name = string(appendString(nil, name)), name
	*m = value
}

// textList is a list of strings.
func textList(texts []string) node {
	list := node{open: '['}
	for _, t := range texts {
		list.kids = append(list.kids, textNode(t))
	}
	return list
}

func textNode(text string) *node { return &node{raw: string(appendString(nil, text))} }

// clip cuts a string to at most limit bytes of its encoding: at the end of a
// line where that costs less than a quarter of what is left.
func (n *node) clip(limit int) {
	if !n.isText() || len(n.raw) <= limit {
		return
	}
	const ending = `…"`
	at, line := 1, 0
	for next := at; next <= limit-len(ending); next += characterLength(n.raw[next:]) {
		if n.raw[at:next] == `\n` {
			line = next
		}
		at = next
	}
	if line > at*3/4 {
		at = line
	}
	n.raw, n.cut = n.raw[:at]+ending, true
}

// characterLength returns how many bytes the first character of an encoded
// string takes. Surrogates, which stand in pairs, are kept together.
func characterLength(encoded string) int {
	if encoded[0] != '\\' {
		_, size := utf8.DecodeRuneInString(encoded)
		return size
	}
	switch {
	case encoded[1] != 'u':
		return 2
	case strings.ContainsRune("dD", rune(encoded[2])) && strings.HasPrefix(encoded[6:], `\u`):
		return 12
	default:
		return 6
	}
}

// shed drops elements from the front until they took at least excess bytes
// or only keep are left.
func (n *node) shed(excess, keep int) {
	for freed := 0; freed < excess && len(n.kids) > keep; n.lost++ {
		freed += n.kids[0].size() + 1
		n.kids = n.kids[1:]
	}
}
