package errcodes_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
)

// general are details that any error may carry.
var general = []string{"attempts", "waited", "retryAfterMs"}

// TestRaisedDetailsAreDeclared reads the source of every room for
// errcodes.X.With(...) and Warn(...): each key is one that the row of X
// declares, and each detail that the sentence needs is given.
func TestRaisedDetailsAreDeclared(t *testing.T) {
	constants := declared(t)
	raised := 0
	for _, path := range sources(t, "..") {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			code, known := constants[raisedCode(call)]
			if !known {
				return true
			}
			raised++
			for _, problem := range mismatches(code.Entry(), call) {
				t.Errorf("%s: %s %s", set.Position(call.Pos()), code, problem)
			}
			return true
		})
	}
	if raised == 0 {
		t.Error("no room raises a code: the test looks in the wrong place")
	}
}

func sources(t *testing.T, root string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// raisedCode returns X where call is errcodes.X.With(...) or errcodes.X.Warn(...).
func raisedCode(call *ast.CallExpr) string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "With" && method.Sel.Name != "Warn" {
		return ""
	}
	code, ok := method.X.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if room, ok := code.X.(*ast.Ident); !ok || room.Name != "errcodes" {
		return ""
	}
	return code.Sel.Name
}

func mismatches(entry *errcodes.Entry, call *ast.CallExpr) []string {
	var names, given, problems []string
	for _, field := range entry.Details {
		names = append(names, field.Name)
	}
	for i := 0; i < len(call.Args); i += 2 {
		literal, ok := call.Args[i].(*ast.BasicLit)
		if !ok {
			return nil // keys that only a run can tell
		}
		key, _ := strconv.Unquote(literal.Value)
		given = append(given, key)
		if !slices.Contains(names, key) && !slices.Contains(general, key) {
			problems = append(problems, "does not declare "+key)
		}
	}
	for _, field := range entry.Details {
		needed := "{" + cmp.Or(field.In, field.Name) + "}"
		if strings.Contains(entry.Message, needed) && !slices.Contains(given, field.Name) && !slices.Contains(general, field.Name) {
			problems = append(problems, "is raised without "+field.Name)
		}
	}
	return problems
}
