package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"
)

// run runs a program and keeps what it wrote for later verbs.
func (s *scene) run(ts *testscript.TestScript, words []string) error {
	err := ts.Exec(words[0], words[1:]...)
	s.status = 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		s.status = exit.ExitCode()
		err = nil
	}
	if args := leslieArgs(words); args != nil {
		s.args, s.words = args, words
	}
	return err
}

// leslieArgs returns the arguments of a leslie of whatever name, nil for
// another program.
func leslieArgs(words []string) []string {
	switch words[0] {
	case "leslie", "leslie-extra":
		return slices.Clip(words[1:])
	case "leslie-faulty", "leslie-signalled":
		return slices.Clip(words[2:])
	}
	return nil
}

func exits(ts *testscript.TestScript, s *scene, args []string) error {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if err := s.run(ts, args[1:]); err != nil {
		return err
	}
	if s.status != want {
		return fmt.Errorf("exit status %d, want %d", s.status, want)
	}
	return nil
}

func isResponse(ts *testscript.TestScript, s *scene, args []string) error {
	stdout := ts.ReadFile("stdout")
	if slices.Contains(args, "last") {
		lines := strings.SplitAfter(stdout, "\n")
		stdout = lines[max(0, len(lines)-2)]
	}
	if failure := gjson.Get(stdout, "error"); failure.Exists() {
		s.failure, s.failed, s.failedWith = failure.Raw, s.words, s.status
	}
	return checkResponse(s.args, s.status, stdout, ts.ReadFile("stderr"))
}

// at returns what stdout, or the last line of a stream, has at a path.
func at(ts *testscript.TestScript, path string) gjson.Result {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	return gjson.Get(lines[len(lines)-1], path)
}

func hasJSON(ts *testscript.TestScript, _ *scene, args []string) error {
	found := at(ts, args[0])
	switch {
	case !found.Exists():
		return fmt.Errorf("there is no %s", args[0])
	case len(args) == 3 && args[1] == "~":
		if !regexp.MustCompile(args[2]).MatchString(found.String()) {
			return fmt.Errorf("%s is %s, which does not match %s", args[0], found.String(), args[2])
		}
	case len(args) != 2 || found.String() != args[1]:
		return fmt.Errorf("%s is %s, want %q", args[0], found.String(), args[1:])
	}
	return nil
}

func hasNoJSON(ts *testscript.TestScript, _ *scene, args []string) error {
	if found := at(ts, args[0]); found.Exists() {
		return fmt.Errorf("%s is %s", args[0], found.Raw)
	}
	return nil
}

func keep(ts *testscript.TestScript, _ *scene, args []string) error {
	found := at(ts, args[1])
	if !found.Exists() {
		return fmt.Errorf("there is no %s", args[1])
	}
	ts.Setenv(args[0], found.String())
	return nil
}

func next(ts *testscript.TestScript, s *scene, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	commands := gjson.Get(s.failure, "details.next").Array()
	if n < 1 || n > len(commands) {
		return fmt.Errorf("there are %d next commands", len(commands))
	}
	if err := ts.Exec("sh", "-c", commands[n-1].Str); err != nil {
		return fmt.Errorf("%s: %w", commands[n-1].Str, err)
	}
	return nil
}

func more(ts *testscript.TestScript, s *scene, _ []string) error {
	command := at(ts, "data.next").Str
	if command == "" {
		return errors.New("there is no next command")
	}
	s.status = 0
	if err := ts.Exec("sh", "-c", command+" --json"); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}

func inLogfmt(ts *testscript.TestScript, s *scene, _ []string) error {
	words := slices.DeleteFunc(slices.Clone(s.failed), func(word string) bool { return word == "--json" })
	if err := s.run(ts, words); err != nil {
		return err
	}
	if s.status != s.failedWith || ts.ReadFile("stdout") != "" {
		return fmt.Errorf("as logfmt: status %d, stdout %q", s.status, ts.ReadFile("stdout"))
	}
	return sameError(ts.ReadFile("stderr"), gjson.Parse(s.failure))
}

func roundTrip(ts *testscript.TestScript, s *scene, args []string) error {
	if err := s.run(ts, append(slices.Clone(args), "--json")); err != nil {
		return err
	}
	answer := gjson.Parse(ts.ReadFile("stdout"))
	if err := s.run(ts, args); err != nil {
		return err
	}
	return sameAnswer(ts.ReadFile("stdout"), answer.Get("data"))
}

func remember(ts *testscript.TestScript, s *scene, _ []string) (err error) {
	s.files, err = filesOf(ts.MkAbs(storeName))
	return err
}

func unchanged(ts *testscript.TestScript, s *scene, _ []string) error {
	now, err := filesOf(ts.MkAbs(storeName))
	if err != nil {
		return err
	}
	var differs []error
	for path := range s.files {
		if now[path] != s.files[path] {
			differs = append(differs, fmt.Errorf("%s changed", path))
		}
	}
	for path := range now {
		if _, was := s.files[path]; !was {
			differs = append(differs, fmt.Errorf("%s is new", path))
		}
	}
	return errors.Join(differs...)
}

// filesOf returns what the files under a directory hold, or are, but for
// logs and the files of the lock.
func filesOf(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil:
			return err
		case name == "logs":
			return filepath.SkipDir
		case strings.HasSuffix(name, ".lock"), strings.HasSuffix(name, ".holder"), entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			files[name] = entry.Type().String()
			return nil
		}
		content, err := os.ReadFile(path)
		files[name] = string(content)
		return err
	})
	return files, err
}

func hold(ts *testscript.TestScript, s *scene, _ []string) error {
	cmd := exec.Command(holderProgram, ts.MkAbs(storeName))
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.release = func() error {
		s.release = nil
		return errors.Join(in.Close(), cmd.Wait())
	}
	ts.Defer(func() {
		if s.release != nil {
			s.release()
		}
	})
	_, err = bufio.NewReader(out).ReadString('\n')
	return err
}

func unhold(_ *testscript.TestScript, s *scene, _ []string) error {
	if s.release == nil {
		return errors.New("nobody holds the lock")
	}
	return s.release()
}

func killed(ts *testscript.TestScript, _ *scene, args []string) error {
	times, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var acknowledged strings.Builder
	for n := range times {
		words := slices.Clone(args[1:])
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "{n}", strconv.Itoa(n))
		}
		if id := killedAtRandom(ts.MkAbs("."), words); id != "" {
			acknowledged.WriteString(id + "\n")
		}
	}
	return os.WriteFile(ts.MkAbs("acknowledged"), []byte(acknowledged.String()), 0o644)
}

// longestLife is a little more than a command takes that is left alone.
const longestLife = 60 * time.Millisecond

// killedAtRandom starts a program in dir, kills it -9 at a random moment, and
// returns the threadId of its answer when it came to give one.
func killedAtRandom(dir string, words []string) string {
	ctx, cancel := context.WithTimeout(context.Background(), rand.N(longestLife))
	defer cancel()
	var stdout bytes.Buffer
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Stdout = dir, &stdout
	_ = cmd.Run()
	if !gjson.ValidBytes(stdout.Bytes()) {
		return ""
	}
	return gjson.GetBytes(stdout.Bytes(), "data.threadId").Str
}

func damage(ts *testscript.TestScript, _ *scene, args []string) error {
	paths, err := filepath.Glob(ts.MkAbs(args[0]))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("nothing to damage: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch args[1] {
		case "garbage":
			data = []byte("\x7fELF\x00 no JSON { at all\n\xff\xfe")
		case "empty":
			data = nil
		case "truncate":
			data = data[:len(data)*2/3]
		case "zero":
			clear(data)
		case "flip":
			data[len(data)/2] ^= 0x20
		case "remove":
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		default:
			return fmt.Errorf("no such damage: %s", args[1])
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func absent(ts *testscript.TestScript, _ *scene, args []string) error {
	for _, pattern := range args {
		found, err := filepath.Glob(ts.MkAbs(pattern))
		if err != nil {
			return err
		}
		if _, err := os.Lstat(ts.MkAbs(pattern)); err == nil || len(found) > 0 {
			return fmt.Errorf("%s is there: %v", pattern, found)
		}
	}
	return nil
}
