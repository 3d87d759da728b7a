package command

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
)

// suffer lets the store be damaged and used.
func (w *wreck) suffer(t *testing.T, hurt map[string][]byte) lot {
	w.lay(t, w.whole)
	w.hurt = hurt
	for path, data := range hurt {
		w.put(t, path, data)
	}
	before := w.files(t)
	answer, class, err := w.read()
	if err == nil && !maps.EqualFunc(before, w.files(t), bytes.Equal) {
		err = errors.New("a reader has changed files")
	}
	if err == nil && class == "T505" {
		return lot{class, w.refuses("T505", before, "spawn", "--intent", "more")}
	}
	if err == nil && class == "T502" {
		err = errors.Join(w.refuses("T502", before, "spawn", "--intent", "more"), w.repaired(answer))
	} else if err == nil {
		err = w.goesOn(answer)
	}
	return lot{class, err}
}

// read lists all threads and says how: silent, W502, T502 or T505.
func (w *wreck) read() (answer gjson.Result, class string, err error) {
	answer, err = w.try("list", "--all", "--limit", "1000", "--full")
	switch code := answer.Get("error.code").Str; {
	case err != nil:
		return answer, "wrong", err
	case code != "":
		return answer, code, w.refusal(answer)
	case answer.Get("data").Raw != w.list:
		return answer, "wrong", errors.New("the list is not what it was")
	case answer.Get("warnings.#").Int() == 0:
		return answer, "silent", w.mayBeSilent()
	}
	return answer, "W502", w.warned(answer)
}

// mayBeSilent checks that a reader has not needed what is damaged: records of the
// backup, or nothing but the form of the state file.
func (w *wreck) mayBeSilent() error {
	for path, data := range w.hurt {
		if path != backupFile && !(path == stateFile && gjson.ValidBytes(data)) {
			return fmt.Errorf("damage of %s is answered with silence", path)
		}
	}
	return nil
}

// refusal checks that a store may not be read.
func (w *wreck) refusal(answer gjson.Result) error {
	code, recovery := answer.Get("error.code").Str, answer.Get("error.details.recovery")
	switch {
	case code == "T505":
		return nil
	case code != "T502":
		return fmt.Errorf("list fails with %s", answer.Raw)
	case len(w.hurt) == 1:
		return fmt.Errorf("one damaged file is too much: %s", answer.Raw)
	case recovery.Get("tried.#").Int() == 0 || recovery.Get("commands.#").Int() == 0:
		return fmt.Errorf("T502 without a way out: %s", answer.Raw)
	}
	return nil
}

// warned checks that each warning names a damaged file and a source.
func (w *wreck) warned(answer gjson.Result) error {
	for _, warning := range answer.Get("warnings").Array() {
		path := warning.Get("context.path").Str
		if _, damaged := w.hurt[path]; warning.Get("code").Str != "W502" || !damaged || warning.Get("context.source").Str == "" {
			return fmt.Errorf("the warning %s", warning.Raw)
		}
	}
	return nil
}

// refuses runs a command that is refused and changes nothing.
func (w *wreck) refuses(code string, before map[string][]byte, args ...string) error {
	answer, err := w.try(args...)
	if err != nil || answer.Get("error.code").Str != code {
		return fmt.Errorf("leslie %s: %s, not %s: %w", args[0], answer.Raw, code, err)
	}
	after, err := wholeFiles(filepath.Join(w.dir, storeName))
	if err == nil && !maps.EqualFunc(before, after, bytes.Equal) {
		err = errors.New("what was refused has changed files")
	}
	return err
}

// goesOn reads one thread, writes, and reads everything again.
func (w *wreck) goesOn(answer gjson.Result) error {
	id := answer.Get("data.threads.7.id").Str
	one, err := w.try("status", id)
	if err != nil || one.Get("data.thread.id").Str != id && one.Get("data.id").Str != id {
		return fmt.Errorf("status: %s: %w", one.Raw, err)
	}
	made, err := w.try("spawn", "--intent", "after", "--id", "thread-after")
	if err != nil || !made.Get("success").Bool() {
		return fmt.Errorf("spawn: %s: %w", made.Raw, err)
	}
	list, err := w.try("list", "--all", "--limit", "1000", "--full")
	if err != nil || list.Get("data.count").Int() != 51 || list.Get("warnings").Raw != "[]" {
		return fmt.Errorf("list after a write: %d %s: %w", list.Get("data.count").Int(), list.Get("warnings").Raw, err)
	}
	for _, thread := range list.Get("data.threads").Array() {
		if thread.Get("id").Str != "thread-after" && !strings.Contains(w.list, thread.Raw) {
			return fmt.Errorf("a write has changed %s", thread.Raw)
		}
	}
	return w.healthy(true)
}

// repaired examines and repairs a store that cannot be read.
func (w *wreck) repaired(refused gjson.Result) error {
	report, err := w.try("doctor")
	if err != nil || !report.Get("success").Bool() || report.Get("data.healthy").Bool() {
		return fmt.Errorf("doctor: %s: %w", report.Raw, err)
	}
	report, err = w.try("doctor", "--repair")
	if err != nil || !report.Get("success").Bool() || !report.Get(`warnings.#(code=="W509")`).Exists() {
		return fmt.Errorf("doctor --repair: %s: %w", report.Raw, err)
	}
	list, err := w.try("list", "--all", "--limit", "1000", "--full")
	if err != nil || !list.Get("success").Bool() || list.Get("warnings").Raw != "[]" {
		return fmt.Errorf("list after the repair: %s: %w", list.Raw, err)
	}
	kept, _ := filepath.Glob(filepath.Join(w.dir, storeName, "damaged", "*", "*"))
	for path, data := range w.hurt {
		if path == stateFile && data != nil && !slices.ContainsFunc(kept, func(name string) bool { return filepath.Base(name) == path }) {
			return fmt.Errorf("%s was not kept: %v", path, kept)
		}
	}
	return w.healthy(false)
}

// healthy checks that the doctor has nothing to say of the store's own files,
// and nothing at all where no record was lost.
func (w *wreck) healthy(entirely bool) error {
	report, err := w.try("doctor")
	if err != nil || !report.Get("success").Bool() {
		return fmt.Errorf("doctor: %s: %w", report.Raw, err)
	}
	for _, problem := range report.Get("data.problems").Array() {
		if entirely || problem.Get("code").Str == "T502" {
			return fmt.Errorf("the doctor says %s", problem.Raw)
		}
	}
	return nil
}

// try runs a process and returns its one response. The error is that of an
// answer that is not one, or of a status that does not belong to it.
func (w *wreck) try(args ...string) (gjson.Result, error) {
	cmd := exec.Command("leslie", append(args, "--json")...)
	cmd.Dir = w.dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return gjson.Result{}, err
	}
	text := stdout.String()
	answer := gjson.Parse(text)
	status := 0
	if code := answer.Get("error.code").Str; code != "" {
		status = errcodes.Code(code).ExitStatus()
	}
	switch {
	case strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") || !gjson.Valid(text) || !strings.HasPrefix(text, `{"success":`):
		return answer, fmt.Errorf("leslie %s answers %q", args[0], text)
	case stderr.Len() > 0:
		return answer, fmt.Errorf("leslie %s says %q beside its answer", args[0], stderr.String())
	case cmd.ProcessState.ExitCode() != status || answer.Get("success").Bool() != (status == 0):
		return answer, fmt.Errorf("leslie %s ends with status %d: %s", args[0], cmd.ProcessState.ExitCode(), text)
	}
	return answer, nil
}

func (w *wreck) run(t *testing.T, args ...string) gjson.Result {
	t.Helper()
	answer, err := w.try(args...)
	if err != nil || !answer.Get("success").Bool() {
		t.Fatalf("leslie %q: %v: %s", args, err, answer.Raw)
	}
	return answer
}

// lay makes the place hold these files and no others.
func (w *wreck) lay(t *testing.T, files map[string][]byte) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(w.dir, storeName)); err != nil {
		t.Fatal(err)
	}
	for path, data := range files {
		w.put(t, path, data)
	}
}

func (w *wreck) put(t *testing.T, path string, data []byte) {
	t.Helper()
	path = filepath.Join(w.dir, storeName, path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil && data == nil {
		err = os.Remove(path)
	} else if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *wreck) files(t *testing.T) map[string][]byte {
	t.Helper()
	found, err := wholeFiles(filepath.Join(w.dir, storeName))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wholeFiles reads every file below dir, but the lock, its holder and the logs of the program.
func wholeFiles(dir string) (map[string][]byte, error) {
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		own := strings.HasPrefix(name, stateFile+".lock") || strings.HasPrefix(name, stateFile+".holder") || strings.HasPrefix(name, "logs"+string(filepath.Separator))
		if err != nil || entry.IsDir() || own {
			return err
		}
		data, err := os.ReadFile(path)
		found[name] = data
		return err
	})
	return found, err
}
