package storage

import (
	"bytes"
	"strconv"

	"github.com/tidwall/gjson"
)

// A checksum tells damage, not malice: whoever can write a file can compute
// it. So nothing that is read decides how much memory or stack is used, which
// number overflows, or where a file goes.

// deepest is how deep objects and arrays may be nested.
const deepest = 1000

// largestNumber is the largest that an operation, revision, generation, size
// or place in a file may have. Larger ones are damage; beyond it nothing is
// counted on.
const largestNumber = 1<<59 - 1

// validJSON reports whether text is one JSON value that is not nested too
// deeply: gjson goes down by recursion, without a limit.
func validJSON(text []byte) bool {
	opened := bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("["))
	return (opened <= deepest || shallow(text)) && gjson.ValidBytes(text)
}

// validText is validJSON for a string.
func validText(text string) bool { return shallow(text) && gjson.Valid(text) }

// shallow reports whether no part of text is nested deeper than deepest.
func shallow[T string | []byte](text T) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > deepest {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

// number reads a number that this package has written: no sign, no fraction,
// no exponent, no string, not too large.
func number(text string) (int64, bool) {
	if text == "" {
		return 0, false
	}
	value, err := strconv.ParseInt(text, 10, 64)
	return value, err == nil && value <= largestNumber && text[0] >= '0'
}
