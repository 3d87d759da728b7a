package response

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Logfmt is for people and pipes. Every array of objects at the top of data
// gives one line an element, named by its singular; then comes "ok" with all
// the rest. Nested values become dotted keys, and an empty list or object
// the value [] or {}. A line parses back to the values it was made of: see
// ParseLine for its grammar.

// widest is how many columns a value is padded to at most.
const widest = 40

// row is one line that is not yet laid out.
type row struct {
	word string
	text []byte // its pairs, one behind the other
	ends []int  // where each pair ends in text
}

// logfmt returns what logfmt prints on stdout. A partial result ends in a line
// named "partial" instead of "ok", where there is more to it than lists.
func (a *answer) logfmt(out Output) []byte {
	if a.Plain != "" {
		return plainText(a.Plain, out.StdoutTerminal)
	}
	data := gjson.ParseBytes(a.data)
	if text := data.Get(gjson.Escape(a.Text)); a.Text != "" && text.Type == gjson.String {
		return plainText(text.Str, out.StdoutTerminal)
	}
	last := row{word: "ok"}
	if a.failure != nil {
		last.word = "partial"
	}
	printed := make([]byte, 0, len(a.data)+256)
	data.ForEach(func(key, value gjson.Result) bool {
		if !isTable(key.Str, value) {
			last.add(appendKey(nil, key.Str), value)
			return true
		}
		printed = appendRows(printed, rowsOf(key.Str, value), out)
		return true
	})
	if a.failure == nil || len(last.ends) > 0 {
		printed = appendRows(printed, []row{last}, out)
	}
	return printed
}

// plainText returns a text as it is, with a newline at its end. On a terminal
// control characters are replaced: a text may hold words of others.
func plainText(text string, terminal bool) []byte {
	if terminal {
		text = strings.Map(func(r rune) rune {
			if r != '\n' && r != '\t' && !isShown(r) {
				return utf8.RuneError
			}
			return r
		}, text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return []byte(text)
}

// isTable reports whether a value prints as one line an element: an array of
// objects, under a name that can head a line.
func isTable(key string, value gjson.Result) bool {
	if !value.IsArray() || !isBare(key) {
		return false
	}
	elements, objects := 0, 0
	value.ForEach(func(_, element gjson.Result) bool {
		elements++
		if element.IsObject() {
			objects++
		}
		return elements == objects
	})
	return elements > 0 && elements == objects
}

func rowsOf(key string, list gjson.Result) []row {
	word := singular(key)
	var rows []row
	path := make([]byte, 0, 64)
	list.ForEach(func(_, element gjson.Result) bool {
		r := row{word: word, text: make([]byte, 0, len(element.Raw)+64), ends: make([]int, 0, 16)}
		r.addMembers(path, element)
		rows = append(rows, r)
		return true
	})
	return rows
}

// singular names one element of a list: threads gives thread, entries entry.
func singular(key string) string {
	for _, ending := range [][2]string{{"ies", "y"}, {"sses", "ss"}, {"ches", "ch"}, {"shes", "sh"}, {"xes", "x"}, {"ss", "ss"}, {"s", ""}} {
		if stem, found := strings.CutSuffix(key, ending[0]); found && stem != "" {
			return stem + ending[1]
		}
	}
	return key
}

// add adds value under the dotted key path, as one pair or, where it is an
// object or a list that is not empty, as several.
func (r *row) add(path []byte, value gjson.Result) {
	if value.Type == gjson.JSON && r.addMembers(path, value) > 0 {
		return
	}
	r.text = append(append(r.text, path...), '=')
	switch {
	case value.Type == gjson.String:
		r.text = appendLogfmtValue(r.text, value.Str)
	case value.IsArray():
		r.text = append(r.text, "[]"...)
	case value.IsObject():
		r.text = append(r.text, "{}"...)
	default:
		r.text = append(r.text, value.Raw...)
	}
	r.ends = append(r.ends, len(r.text))
}

// addMembers adds what is inside of value and returns how many there were.
func (r *row) addMembers(path []byte, value gjson.Result) int {
	if len(path) > 0 {
		path = append(path, '.')
	}
	count, isList := 0, value.IsArray()
	value.ForEach(func(key, member gjson.Result) bool {
		if isList { // what is appended to path here is overwritten by the next member
			r.add(strconv.AppendInt(path, int64(count), 10), member)
		} else {
			r.add(appendKey(path, key.Str), member)
		}
		count++
		return true
	})
	return count
}

// pair returns the i-th pair of r.
func (r *row) pair(i int) []byte {
	start := 0
	if i > 0 {
		start = r.ends[i-1]
	}
	return r.text[start:r.ends[i]]
}

// appendRows appends rows as lines. On a terminal their pairs stand in
// columns as far as all rows have the same keys.
func appendRows(printed []byte, rows []row, out Output) []byte {
	var widths []int
	if out.StdoutTerminal && len(rows) > 1 {
		widths = columns(rows)
	}
	for _, r := range rows {
		printed = appendWord(printed, r.word, out.Color && out.StdoutTerminal)
		for i := range r.ends {
			pair := r.pair(i)
			printed = append(append(printed, ' '), pair...)
			if i < len(widths) && i < len(r.ends)-1 {
				padding := widths[i] - utf8.RuneCount(pair)
				printed = append(printed, strings.Repeat(" ", max(padding, 0))...)
			}
		}
		printed = append(printed, '\n')
	}
	return printed
}

// columns returns the width of each column up to the first whose key is not
// the same in all rows.
func columns(rows []row) []int {
	var widths []int
	for i := range rows[0].ends {
		name, _, _ := bytes.Cut(rows[0].pair(i), []byte("="))
		width := 0
		for _, r := range rows {
			if i >= len(r.ends) || !bytes.HasPrefix(r.pair(i), append(slices.Clip(name), '=')) {
				return widths
			}
			width = max(width, min(utf8.RuneCount(r.pair(i)), len(name)+1+widest))
		}
		widths = append(widths, width)
	}
	return widths
}

var colors = map[string]string{"ok": "32", "partial": "33", "warning": "33", "error": "31"}

func appendWord(out []byte, word string, color bool) []byte {
	if !color {
		return append(out, word...)
	}
	paint, known := colors[word]
	if !known {
		paint = "36"
	}
	return append(out, "\x1b["+paint+"m"+word+"\x1b[0m"...)
}
