package response

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// appendString appends s as a JSON string. As in encoding/json, U+2028 and
// U+2029 are escaped, because JavaScript takes them for ends of lines.
func appendString(out []byte, s string) []byte {
	return appendQuoted(out, s, func(r rune) bool { return r != '\u2028' && r != '\u2029' })
}

// appendLogfmtValue appends s so that ParseLine reads it back as this very
// string: bare where nothing in it could be taken for something else, else as
// a JSON string in which whatever a terminal would not show is escaped.
func appendLogfmtValue(out []byte, s string) []byte {
	if isBare(s) && !isOtherValue(s) {
		return append(out, s...)
	}
	return appendQuoted(out, s, isShown)
}

// appendQuoted appends s between quotes, escaping what JSON requires and
// every character beyond ASCII that is not fit to be shown.
func appendQuoted(out []byte, s string, fit func(rune) bool) []byte {
	out = append(out, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		valid := r != utf8.RuneError || size > 1
		if valid && r >= 0x7f && fit(r) {
			i += size
			continue
		}
		out = appendEscaped(append(out, s[start:i]...), r, valid)
		i += size
		start = i
	}
	return append(append(out, s[start:]...), '"')
}

func appendEscaped(out []byte, r rune, valid bool) []byte {
	switch {
	case !valid:
		return append(out, "\uFFFD"...)
	case r == '"' || r == '\\':
		return append(out, '\\', byte(r))
	case strings.ContainsRune("\b\f\n\r\t", r):
		return append(out, '\\', "btn-fr"[r-'\b'])
	case r > 0xffff:
		r -= 0x10000
		return appendHex(appendHex(out, 0xd800+r>>10), 0xdc00+r&0x3ff)
	default:
		return appendHex(out, r)
	}
}

func appendHex(out []byte, r rune) []byte {
	return append(out, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// isShown reports whether r appears as itself on a terminal. Joiners are not
// printable to unicode, but scripts and emoji are built with them.
func isShown(r rune) bool {
	return unicode.IsPrint(r) || r == '\u200c' || r == '\u200d'
}

// isBare reports whether s can stand in a line without quotes.
func isBare(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			return bareRunes(s[i:])
		case c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f:
			return false
		}
	}
	return s != ""
}

func bareRunes(s string) bool {
	for i, r := range s {
		if r == '"' || r == '=' || r == '\\' || unicode.IsSpace(r) || !isShown(r) {
			return false
		}
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return false
		}
	}
	return true
}

// isOtherValue reports whether a bare s would be read as a number, true,
// false, null, [] or {}, here or by a tool that is laxer about numbers.
func isOtherValue(s string) bool {
	switch s {
	case "true", "false", "null", "[]", "{}":
		return true
	}
	if !strings.ContainsRune("+-.0123456789iInN", rune(s[0])) {
		return false
	}
	_, notFloat := strconv.ParseFloat(s, 64)
	_, notInteger := strconv.ParseInt(s, 0, 64)
	return isNumber(notFloat) || isNumber(notInteger)
}

// isNumber reads what strconv said: a number out of range is one, too.
func isNumber(err error) bool { return err == nil || errors.Is(err, strconv.ErrRange) }

// appendKey appends one part of a dotted key. Parts that could be taken for
// something else are quoted: a digit string names a member only then, and an
// element otherwise.
func appendKey(out []byte, part string) []byte {
	if isBare(part) && !strings.Contains(part, ".") && !isIndex(part) {
		return append(out, part...)
	}
	return appendQuoted(out, part, isShown)
}

func isIndex(part string) bool {
	for i := range len(part) {
		if part[i] < '0' || part[i] > '9' {
			return false
		}
	}
	return part != ""
}
