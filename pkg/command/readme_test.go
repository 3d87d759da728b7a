package command

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
)

var golden = flag.Bool("update", false, "write what is derived from the code")

const readme = "../../README.md"

// TestReadmeTables holds README's tables of commands and codes against the
// tables in the code.
func TestReadmeTables(t *testing.T) {
	data, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	text := between(t, string(data), "commands", commandTable())
	text = between(t, text, "codes", codeTable())
	if text == string(data) {
		return
	}
	if !*golden {
		t.Fatal("README.md does not show the tables of the code; run make golden")
	}
	if err := os.WriteFile(readme, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// between replaces what stands between the marks of a name.
func between(t *testing.T, text, name, content string) string {
	t.Helper()
	open, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, found := strings.Cut(text, open)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("README.md has no marks for %s", name)
	}
	return before + open + content + end + after
}

func commandTable() string {
	var out strings.Builder
	out.WriteString("| command | does |\n|---|---|\n")
	for _, c := range table {
		if !c.group {
			fmt.Fprintf(&out, "| `%s` | %s |\n", c.name, c.summary)
		}
	}
	return out.String()
}

func codeTable() string {
	var out strings.Builder
	out.WriteString("| code | exit | means | script |\n|---|---|---|---|\n")
	for _, entry := range errcodes.Catalogue() {
		script := ""
		if path := "testdata/codes/" + string(entry.Code) + ".txtar"; exists("../../" + path) {
			script = "[yes](" + path + ")"
		}
		status := fmt.Sprint(entry.Code.ExitStatus())
		if entry.Code == errcodes.Interrupted {
			status = "130, 143"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", entry.Code, status, strings.ReplaceAll(entry.Message, "|", `\|`), script)
	}
	return out.String()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
