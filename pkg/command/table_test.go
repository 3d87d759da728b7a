package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFlagNamesMeanTheSame holds what the reading of a line relies on: a
// name takes a value in every command or in none.
func TestFlagNamesMeanTheSame(t *testing.T) {
	arity := commands(table).arity()
	for _, cmd := range table {
		for _, f := range cmd.accepted() {
			if arity[f.name] != (f.kind != boolean) {
				t.Errorf("--%s of %s takes a value elsewhere and not here, or the other way round", f.name, cmd.name)
			}
		}
	}
}

func TestTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, cmd := range table {
		if seen[cmd.name] || cmd.name == "" || cmd.summary == "" {
			t.Errorf("%q is there twice, or has no name or summary", cmd.name)
		}
		seen[cmd.name] = true
		if cmd.group != (cmd.run == nil) || cmd.group != (cmd.data == nil) {
			t.Errorf("%s: a group runs nothing, and every other command runs and has a schema", cmd.name)
		}
		if first, _, nested := strings.Cut(cmd.name, " "); nested && commands(table).named(first) == nil {
			t.Errorf("%s: its first word is no command", cmd.name)
		}
		for _, f := range cmd.flags {
			if f.kind == choice && len(f.allowed) == 0 || f.kind == number && f.max == 0 || f.kind != boolean && f.kind != choice && f.value == "" {
				t.Errorf("--%s of %s is not described", f.name, cmd.name)
			}
		}
	}
}

func TestHelpOfEveryCommand(t *testing.T) {
	m := bare(t)
	for _, cmd := range table {
		words := strings.Fields(cmd.name)
		for _, args := range [][]string{append(words, "--help"), append([]string{"-h"}, words...), append([]string{"help"}, words...)} {
			data := m.ok(args...)
			if help := data["help"].(string); !strings.HasPrefix(help, cmd.name+": ") {
				t.Errorf("leslie %q: %s", args, help)
			}
		}
		m.run(append(words, "--help")...)
	}
	for _, args := range [][]string{{}, {"help"}, {"--help"}} {
		if help := m.ok(args...)["help"].(string); !strings.Contains(help, "artifact put") {
			t.Errorf("leslie %q: %s", args, help)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	m := bare(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := m.run("completion", shell).stdout
		for _, word := range []string{"spawn", "intent", "waiting_human", "retry-attempts"} {
			if !strings.Contains(script, word) {
				t.Errorf("the script for %s does not know %s", shell, word)
			}
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		check := exec.Command(path, "-n")
		check.Stdin = strings.NewReader(script)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s refuses its script: %v %s", shell, err, out)
		}
	}
}

// TestBashCompletes asks a real bash what it offers.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	script := filepath.Join(t.TempDir(), "leslie.bash")
	if err := os.WriteFile(script, []byte(bare(t).run("completion", "bash").stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, offers string }{
		{"leslie spa", "spawn"},
		{"leslie objective cr", "create"},
		{"leslie list --stat", "--status"},
		{"leslie list --status wait", "waiting_human"},
		{"leslie --json artifact get --o", "--out"},
		{"leslie completion z", "zsh"},
	} {
		ask := `source "$1"; COMP_WORDS=($2); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _leslie; printf '%s\n' "${COMPREPLY[@]}"`
		out, err := exec.Command(bash, "-c", ask, "bash", script, c.line).CombinedOutput()
		if err != nil || !slices.Contains(strings.Fields(string(out)), c.offers) {
			t.Errorf("%s: %v, offers %q", c.line, err, out)
		}
	}
}
