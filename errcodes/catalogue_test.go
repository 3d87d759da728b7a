package errcodes_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
)

// declared returns the constants of type Code in codes.go by name.
func declared(t *testing.T) map[string]errcodes.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]errcodes.Code{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes[spec.Names[0].Name] = errcodes.Code(text)
		return true
	})
	return codes
}

// table reads a golden file: tab-separated cells, missing ones empty.
func table(t *testing.T, name string, cells int) [][]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		rows = append(rows, append(row, make([]string, cells-len(row))...))
	}
	return rows
}

func TestEveryConstantHasOneRow(t *testing.T) {
	rows := map[errcodes.Code]bool{}
	for _, entry := range errcodes.Catalogue() {
		if rows[entry.Code] {
			t.Errorf("%s has two rows", entry.Code)
		}
		rows[entry.Code] = true
	}
	seen := map[errcodes.Code]string{}
	for name, code := range declared(t) {
		if !rows[code] {
			t.Errorf("%s (%s) has no row", name, code)
		}
		if seen[code] != "" {
			t.Errorf("%s and %s are both %s", name, seen[code], code)
		}
		seen[code] = name
	}
	for code := range rows {
		if seen[code] == "" {
			t.Errorf("%s has no constant", code)
		}
	}
}

func TestCatalogueIsSortedAndFound(t *testing.T) {
	all := errcodes.Catalogue()
	if !slices.IsSortedFunc(all, func(a, b errcodes.Entry) int { return strings.Compare(string(a.Code), string(b.Code)) }) {
		t.Error("the catalogue is not sorted by code")
	}
	for _, entry := range all {
		if found := entry.Code.Entry(); found.Code != entry.Code || !entry.Code.Known() {
			t.Errorf("the entry of %s is %s", entry.Code, found.Code)
		}
	}
	for _, unknown := range []errcodes.Code{"", "T", "T100", "T999", "W999", "X101", "T1010", "T0\xff1"} {
		if unknown.Known() || unknown.Entry().Code != errcodes.Unrecognized || unknown.ExitStatus() != 92 {
			t.Errorf("%q passes for a known code: %s, status %d", unknown, unknown.Entry().Code, unknown.ExitStatus())
		}
	}
}

var placeholder = regexp.MustCompile(`\{([^}]*)\}`)

func TestTemplatesNameDeclaredDetails(t *testing.T) {
	for _, entry := range errcodes.Catalogue() {
		names := []string{}
		for _, field := range entry.Details {
			names = append(names, field.Name, field.In)
		}
		sentences := entry.Message + entry.Hint + entry.UserMessage
		for _, match := range placeholder.FindAllStringSubmatch(sentences, -1) {
			if !slices.Contains(names, match[1]) {
				t.Errorf("%s: {%s} is no detail", entry.Code, match[1])
			}
		}
		for _, match := range placeholder.FindAllStringSubmatch(strings.Join(entry.Next, " "), -1) {
			if !slices.Contains(append(names, "command", "operation"), match[1]) {
				t.Errorf("%s: {%s} in Next is no detail", entry.Code, match[1])
			}
		}
	}
}

var types = []string{"string", "integer", "boolean", "string[]", "object", "object[]"}

func TestEveryRowIsComplete(t *testing.T) {
	for _, entry := range errcodes.Catalogue() {
		if entry.Title == "" || entry.Message == "" || entry.Hint == "" || !strings.Contains(entry.Example, "leslie ") {
			t.Errorf("%s lacks title, message, hint or example: %+v", entry.Code, entry)
		}
		if strings.HasSuffix(entry.Hint, ".") || strings.Count(entry.Hint, "[") != strings.Count(entry.Hint, "]") {
			t.Errorf("%s: hint %q", entry.Code, entry.Hint)
		}
		seen := map[string]bool{}
		for _, field := range entry.Details {
			if field.Name == "" || field.Doc == "" || !slices.Contains(types, field.Type) || seen[field.Name] {
				t.Errorf("%s: detail %+v is incomplete or there twice", entry.Code, field)
			}
			seen[field.Name] = true
		}
		for _, next := range entry.Next {
			if !strings.HasPrefix(next, "leslie ") && next != "{command}" {
				t.Errorf("%s: %q is no command", entry.Code, next)
			}
		}
		if entry.Retryable && entry.Retry != errcodes.Same {
			t.Errorf("%s is tried again by itself, but its caller is told %q", entry.Code, entry.Retry)
		}
	}
}

func TestPromisedSentences(t *testing.T) {
	for _, row := range table(t, "promised.tsv", 3) {
		code, message, hint := errcodes.Code(row[0]), row[1], row[2]
		entry := code.Entry()
		if !code.Known() || entry.Message != message {
			t.Errorf("%s says %q, want %q", code, entry.Message, message)
		}
		open := strings.ReplaceAll(regexp.QuoteMeta(hint), `\.\.\.`, `.+`)
		if hint != "" && !regexp.MustCompile("^"+open+"$").MatchString(entry.HintTemplate()) {
			t.Errorf("%s hints %q, want %q", code, entry.HintTemplate(), hint)
		}
	}
}

func TestOnlyWhatPassesByItselfIsRetried(t *testing.T) {
	delays := map[string]time.Duration{"": 0, "retryAfter, 60 s if absent": time.Minute, "5 s": 5 * time.Second, "2 s": 2 * time.Second, "1 s": time.Second}
	retried := []errcodes.Code{errcodes.LockFailed}
	for _, row := range table(t, "loop.tsv", 5) {
		entry := errcodes.Code(row[0]).Entry()
		if row[1] != "no" {
			retried = append(retried, entry.Code)
		}
		if delay, known := delays[row[2]]; !known || entry.Delay != delay {
			t.Errorf("%s waits %v, want %s", entry.Code, entry.Delay, row[2])
		}
		if entry.ShowDetails != (row[3] == "yes") || entry.UserMessage != row[4] {
			t.Errorf("%s: details shown %v, user message %q; want %q", entry.Code, entry.ShowDetails, entry.UserMessage, row[3:])
		}
	}
	for _, entry := range errcodes.Catalogue() {
		if entry.Retryable != slices.Contains(retried, entry.Code) {
			t.Errorf("%s: retryable is %v", entry.Code, entry.Retryable)
		}
	}
}

func TestReasonsOfTaskFailures(t *testing.T) {
	want := map[errcodes.Code]string{}
	for _, row := range table(t, "reasons.tsv", 2) {
		want[errcodes.Code(row[0])] = row[1]
	}
	for _, entry := range errcodes.Catalogue() {
		if entry.Reason != want[entry.Code] {
			t.Errorf("%s has reason %q, want %q", entry.Code, entry.Reason, want[entry.Code])
		}
	}
}
