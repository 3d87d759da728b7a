package response

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Pair is one key=value of a line.
type Pair struct {
	// Path is the key taken apart at its dots: counts.active is {"counts",
	// "active"}. A part that was quoted is a member's name even if it is made
	// of digits or has a dot; Path has it with its quotes.
	Path []string
	// Value is a string, a json.Number, a bool, nil, an empty []any or an
	// empty map[string]any.
	Value any
}

// ParseLine reads one line of logfmt as Write prints it, without its newline:
// a word, and pairs with spaces between. Keys are parts with dots between; a
// part or a value stands bare or as a JSON string. A bare value that is a JSON
// number, true, false, null, [] or {} is that, any other bare one a string.
func ParseLine(line string) (word string, pairs []Pair, err error) {
	word, rest, _ := strings.Cut(line, " ")
	if !isBare(word) {
		return "", nil, errors.New("a line begins with a word")
	}
	for {
		rest = strings.TrimLeft(rest, " ")
		if rest == "" {
			return word, pairs, nil
		}
		var p Pair
		if p.Path, rest, err = parseKey(rest); err != nil {
			return "", nil, err
		}
		if p.Value, rest, err = parseValue(rest); err != nil {
			return "", nil, err
		}
		if rest != "" && rest[0] != ' ' {
			return "", nil, errors.New("a value ends with a space")
		}
		pairs = append(pairs, p)
	}
}

// parseKey reads a key and the equals sign behind it.
func parseKey(text string) (path []string, rest string, err error) {
	for {
		var part string
		if strings.HasPrefix(text, `"`) {
			if part, text, err = quoted(text); err != nil {
				return nil, "", err
			}
		} else {
			end := strings.IndexAny(text, `.= "`)
			if end < 0 || !isBare(text[:end]) {
				return nil, "", errors.New("a key ends with an equals sign")
			}
			part, text = text[:end], text[end:]
		}
		path = append(path, part)
		switch {
		case strings.HasPrefix(text, "="):
			return path, text[1:], nil
		case !strings.HasPrefix(text, "."):
			return nil, "", errors.New("a key ends with an equals sign")
		}
		text = text[1:]
	}
}

func parseValue(text string) (value any, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		raw, rest, err := quoted(text)
		return gjson.Parse(raw).Str, rest, err
	}
	bare, _, _ := strings.Cut(text, " ")
	rest = text[len(bare):]
	switch {
	case bare == "[]":
		return []any{}, rest, nil
	case bare == "{}":
		return map[string]any{}, rest, nil
	case bare == "null":
		return nil, rest, nil
	case bare == "true", bare == "false":
		return bare == "true", rest, nil
	case !isBare(bare):
		return nil, "", errors.New("a value of this kind is quoted")
	case strings.ContainsRune("-0123456789", rune(bare[0])) && gjson.Valid(bare):
		return json.Number(bare), rest, nil
	default:
		return bare, rest, nil
	}
}

// quoted cuts the JSON string at the head of text off, with its quotes.
func quoted(text string) (raw, rest string, err error) {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			raw = text[:i+1]
			if !gjson.Valid(raw) || !utf8.ValidString(raw) {
				return "", "", errors.New("a string is not one of JSON")
			}
			return raw, text[i+1:], nil
		}
	}
	return "", "", errors.New("a string has no end")
}
