package threads

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage/objects"
)

// The bounds of what a caller may write into a record.
const (
	longestTitle   = 500      // bytes
	longestText    = 64 << 10 // bytes: intents, injections, reasons
	titleFromText  = 80       // runes
	longestTag     = 64       // runes
	mostTags       = 50
	lineCharacters = "\n\t"
)

func usage(problem string) error { return errcodes.Usage.With("problem", problem) }

// checkText returns T903 unless text is valid UTF-8 of at most limit bytes
// whose only hidden characters are among allowed.
func checkText(what, text string, limit int, allowed string) error {
	switch {
	case len(text) > limit:
		return usage(what + " is longer than " + strconv.Itoa(limit) + " bytes")
	case !utf8.ValidString(text):
		return usage(what + " is not valid UTF-8")
	}
	for _, r := range text {
		if objects.Hidden(r) && !strings.ContainsRune(allowed, r) {
			return usage(what + " has a control or bidirectional character (" + strconv.QuoteRuneToASCII(r) + ")")
		}
	}
	return nil
}

// checkWords is checkText for what must say something.
func checkWords(what, text string, limit int, allowed string) error {
	if strings.TrimSpace(text) == "" {
		return usage(what + " is empty")
	}
	return checkText(what, text, limit, allowed)
}

func checkTags(tags []string) error {
	if len(tags) > mostTags {
		return usage("more than " + strconv.Itoa(mostTags) + " tags")
	}
	for _, tag := range tags {
		if !isTag(tag) {
			return usage("'" + objects.Printable(tag) + "' is not a tag: 1 to 64 letters, digits and any of _ - . : / @ +")
		}
	}
	return nil
}

func isTag(tag string) bool {
	foreign := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.:/@+", r)
	}
	return tag != "" && utf8.ValidString(tag) && utf8.RuneCountInString(tag) <= longestTag && !strings.ContainsFunc(tag, foreign)
}

// titleOf gives a thread without a title the first line of its intent.
func titleOf(intent string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(intent), "\n")
	line = strings.TrimSpace(strings.ReplaceAll(line, "\t", " "))
	runes := []rune(line)
	if len(runes) <= titleFromText {
		return line
	}
	return string(runes[:titleFromText-1]) + "…"
}

// distinct returns list without repetitions, in its order; never nil.
func distinct(list []string) []string {
	seen := map[string]bool{}
	out := []string{}
	for _, element := range list {
		if !seen[element] {
			seen[element] = true
			out = append(out, element)
		}
	}
	return out
}

// CheckID returns T903 unless id is 1 to 64 letters, digits, '_' and '-' that
// begin with a letter or digit.
func CheckID(id string) error { return objects.CheckID(id) }

// CheckPath returns T903 unless path can name an artifact: relative, clean,
// slash-separated, without control and bidirectional characters, at most
// 1024 bytes with segments of at most 255.
func CheckPath(path string) error { return objects.CheckPath(path) }
