package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/leslie-sh/leslie"

// room is what a package may import beside the standard library.
type room struct {
	ours  []string // rooms of this module; "*" for all of them
	third []string // modules of others
}

// rooms is the table of directions. To change it is a decision, not a fix.
var rooms = map[string]room{
	"errcodes":         {},
	"pkg/retry":        {ours: []string{"errcodes"}},
	"storage":          {ours: []string{"errcodes", "pkg/retry"}, third: []string{"github.com/gofrs/flock", "github.com/tidwall/gjson"}},
	"storage/crash":    {},
	"storage/objects":  {ours: []string{"errcodes", "storage"}},
	"threads":          {ours: []string{"errcodes", "storage", "storage/objects"}},
	"refs":             {ours: []string{"errcodes", "storage", "storage/objects"}},
	"merge":            {ours: []string{"errcodes", "storage", "storage/objects", "threads"}},
	"pkg/transfer":     {ours: []string{"errcodes", "storage"}},
	"pkg/agent":        {ours: []string{"errcodes", "pkg/retry"}},
	"pkg/agent/exec":   {ours: []string{"errcodes", "pkg/agent"}},
	"pkg/agent/acp":    {ours: []string{"errcodes", "pkg/agent"}},
	"pkg/agent/replay": {ours: []string{"errcodes", "pkg/agent"}},
	"pkg/prose/syntax": {ours: []string{"errcodes"}},
	"pkg/prose/check":  {ours: []string{"errcodes", "pkg/prose/syntax"}},
	"pkg/prose/interp": {ours: []string{"errcodes", "pkg/prose/syntax", "pkg/retry", "storage"}},
	"pkg/task":         {ours: []string{"errcodes", "storage"}},
	"pkg/loop":         {ours: []string{"errcodes", "storage", "pkg/retry"}},
	"pkg/session":      {ours: []string{"errcodes", "storage", "threads", "refs", "pkg/agent"}},
	"pkg/config":       {ours: []string{"errcodes"}},
	"pkg/mcp":          {ours: []string{"errcodes", "pkg/response"}},
	"pkg/doctor":       {ours: []string{"errcodes", "storage"}},
	"pkg/response":     {ours: []string{"errcodes"}, third: []string{"github.com/tidwall/gjson"}},
	"pkg/logging":      {ours: []string{"errcodes"}, third: []string{"github.com/lmittmann/tint"}},
	"pkg/command":      {ours: []string{"*"}, third: []string{"github.com/urfave/cli/v2"}},
	"cmd/leslie":       {ours: []string{"pkg/command"}},
}

// source is one file of the module that is no test.
type source struct {
	room, path string
	file       *ast.File
}

// sources parses every file of the module that is neither a test nor data.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (name == "testdata" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, filepath.Dir(path))
		all = append(all, source{filepath.ToSlash(relative), path, file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestImportsFollowTheHouse(t *testing.T) {
	for _, s := range sources(t) {
		allowed, known := rooms[s.room]
		if !known {
			t.Errorf("%s: the house has no room %s", s.path, s.room)
			continue
		}
		for _, spec := range s.file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !allowed.permits(path) {
				t.Errorf("%s: room %s may not import %s", s.path, s.room, path)
			}
		}
	}
}

// permits reports whether the room may import path. A path whose first part
// has no dot is the standard library's.
func (r room) permits(path string) bool {
	if ours, found := strings.CutPrefix(path, module+"/"); found {
		_, known := rooms[ours]
		return known && (slices.Contains(r.ours, "*") || slices.Contains(r.ours, ours))
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return true
	}
	return slices.ContainsFunc(r.third, func(module string) bool {
		return path == module || strings.HasPrefix(path, module+"/")
	})
}

// reserved are the contacts with the process that one room keeps for itself.
var reserved = map[string]string{
	"os.Exit":      "cmd/leslie",
	"os.Args":      "cmd/leslie",
	"os.Environ":   "cmd/leslie",
	"os.Getenv":    "",
	"os.LookupEnv": "",
	"os.Stdout":    "cmd/leslie", // hands it to pkg/command, which hands it to pkg/response
	"os.Stderr":    "cmd/leslie",
	"os.Stdin":     "cmd/leslie",
	"fmt.Print":    "", "fmt.Printf": "", "fmt.Println": "",
	"log.Fatal": "", "log.Fatalf": "", "log.Fatalln": "",
	"time.Sleep": "",
}

func TestOneRoomForEachContact(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := selector.X.(*ast.Ident)
			if !ok {
				return true
			}
			name := pkg.Name + "." + selector.Sel.Name
			if owner, kept := reserved[name]; kept && owner != s.room {
				t.Errorf("%s: %s is for %q only", s.path, name, owner)
			}
			return true
		})
	}
}

// TestOnlyResponseWritesStdout holds that the writer of stdout is written to
// nowhere but in pkg/response: a handler of pkg/command gets a call, which
// has no writer.
func TestOnlyResponseWritesStdout(t *testing.T) {
	for _, s := range sources(t) {
		if s.room != "pkg/command" {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			called, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, argument := range append([]ast.Expr{called.Fun}, called.Args...) {
				if selector, ok := argument.(*ast.SelectorExpr); ok && writesStdout(called, selector) {
					t.Errorf("%s: writes stdout itself", s.path)
				}
			}
			return true
		})
	}
}

// writesStdout reports whether the call is stdout.Write or hands stdout to a
// function of fmt or io.
func writesStdout(called *ast.CallExpr, selector *ast.SelectorExpr) bool {
	isStdout := func(e ast.Expr) bool {
		s, ok := e.(*ast.SelectorExpr)
		return ok && strings.EqualFold(s.Sel.Name, "stdout")
	}
	if called.Fun == ast.Expr(selector) {
		return strings.HasPrefix(selector.Sel.Name, "Write") && isStdout(selector.X)
	}
	function, ok := called.Fun.(*ast.SelectorExpr)
	if !ok || !isStdout(selector) {
		return false
	}
	pkg, ok := function.X.(*ast.Ident)
	return ok && (pkg.Name == "fmt" || pkg.Name == "io")
}
