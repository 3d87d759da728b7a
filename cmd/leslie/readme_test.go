package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeConsole runs every console block of README in a directory of its
// own, as it stands, and compares what it prints; "..." stands for any text.
func TestReadmeConsole(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", filepath.Join(bin, "leslie"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	blocks := strings.Split(string(data), "```console\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("README.md has no console block")
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		runBlock(t, bin, block)
	}
}

func runBlock(t *testing.T, bin, block string) {
	t.Helper()
	var script strings.Builder
	for line := range strings.Lines(block) {
		if command, found := strings.CutPrefix(line, "$ "); found {
			script.WriteString("status() { return $s; }; status; " + strings.TrimSuffix(command, "\n") + "\ns=$?\n")
		}
	}
	sh := exec.Command("sh", "-c", "s=0\n"+script.String())
	sh.Dir = t.TempDir()
	sh.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + sh.Dir}
	got, _ := sh.CombinedOutput()
	if want := pattern(block); !want.Match(got) {
		t.Errorf("README's block\n%s\nprints\n%s", block, got)
	}
}

// pattern makes the output lines of a block into one pattern.
func pattern(block string) *regexp.Regexp {
	var out strings.Builder
	for line := range strings.Lines(block) {
		if !strings.HasPrefix(line, "$ ") {
			out.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `[^\n]*`))
		}
	}
	return regexp.MustCompile(`\A` + out.String() + `\z`)
}
