package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/pkg/response"
)

// leaves are the values of a line or a JSON value, by their path.
type leaves map[string]string

// leavesOf flattens a JSON value as logfmt does.
func leavesOf(value gjson.Result) leaves {
	found := leaves{}
	found.take("", value)
	return found
}

func (l leaves) take(path string, value gjson.Result) {
	n := 0
	if value.IsObject() || value.IsArray() {
		value.ForEach(func(key, member gjson.Result) bool {
			name := key.Str
			if value.IsArray() {
				name = strconv.Itoa(n)
			}
			l.take(path+"/"+name, member)
			n++
			return true
		})
	}
	if n == 0 && path != "" {
		l[path] = kindOf(value.Value())
	}
}

// kindOf renders a value so that values of different types differ.
func kindOf(value any) string {
	if number, ok := value.(json.Number); ok {
		value, _ = number.Float64()
	}
	return fmt.Sprintf("%T %v", value, value)
}

// leavesOfLine reads a line of logfmt.
func leavesOfLine(line string) (word string, found leaves, err error) {
	word, pairs, err := response.ParseLine(line)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %s", err, line)
	}
	found = leaves{}
	for _, pair := range pairs {
		path := ""
		for _, part := range pair.Path {
			if strings.HasPrefix(part, `"`) {
				part = gjson.Parse(part).Str
			}
			path += "/" + part
		}
		if _, twice := found[path]; twice {
			return "", nil, fmt.Errorf("%s stands twice on a line: %s", path, line)
		}
		found[path] = kindOf(pair.Value)
	}
	return word, found, nil
}

// sameAnswer says how the lines of an answer differ from its data as JSON:
// one line an element of every list of objects, then one with the rest.
func sameAnswer(stdout string, data gjson.Result) error {
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	rest := leaves{}
	var problem error
	data.ForEach(func(key, value gjson.Result) bool {
		elements := value.Array()
		if !value.IsArray() || len(elements) == 0 || slices.ContainsFunc(elements, func(e gjson.Result) bool { return !e.IsObject() }) {
			rest.take("/"+key.Str, value)
			return true
		}
		for _, element := range elements {
			if problem == nil && len(lines) > 0 {
				problem = sameLine(lines[0], "", leavesOf(element))
				lines = lines[1:]
			}
		}
		return problem == nil
	})
	if problem == nil && len(lines) != 1 {
		problem = fmt.Errorf("%d lines for the rest of the answer", len(lines))
	}
	if problem != nil {
		return problem
	}
	return sameLine(lines[0], "ok", rest)
}

func sameLine(line, word string, want leaves) error {
	got, found, err := leavesOfLine(line)
	if err != nil {
		return err
	}
	if word != "" && got != word {
		return fmt.Errorf("a line begins with %s, not with %s", got, word)
	}
	if !maps.Equal(found, want) {
		return fmt.Errorf("the line\n%s\nis %v, and the answer %v", line, found, want)
	}
	return nil
}

// fleeting are details that differ from one occurrence to the next.
var fleeting = []string{"/waited", "/operationId", "/holder"}

var operationID = regexp.MustCompile(`\bop-[a-z2-7]{13}\b`)

// sameError says how what stands on stderr differs from an error as JSON.
func sameError(stderr string, failure gjson.Result) error {
	var errors []string
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "error ") {
			errors = append(errors, strings.TrimSuffix(line, "\n"))
		}
	}
	if len(errors) != 1 {
		return fmt.Errorf("%d lines of errors on stderr: %s", len(errors), stderr)
	}
	_, found, err := leavesOfLine(errors[0])
	if err != nil {
		return err
	}
	want := leavesOf(failure.Get("details"))
	want["/code"], want["/msg"] = kindOf(failure.Get("code").Str), kindOf(failure.Get("message").Str)
	for path, value := range want {
		if operationID.ReplaceAllString(found[path], "") != operationID.ReplaceAllString(value, "") && !slices.Contains(fleeting, path) && !strings.HasPrefix(path, "/next/") {
			return fmt.Errorf("stderr has %s %q, and JSON %q", path, found[path], value)
		}
	}
	if len(found) != len(want) {
		return fmt.Errorf("stderr has %v, and JSON %v", found, want)
	}
	return nil
}
