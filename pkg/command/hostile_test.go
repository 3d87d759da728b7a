package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// secret is in every file outside of the store: an answer that has it, has read there.
const secret = "XSECRETX"

// hostilePlaces are what is replaced, relative to the store.
var hostilePlaces = []string{
	"thread_relations.json", "thread_relations.json.bak", "thread_relations.json.lock", "thread_relations.json.holder",
	"thread_relations.json.tmp", "thread_relations.json.bak.tmp", "ops", "ops/1.jsonl", "ops/2.jsonl", "ops/2.jsonl.tmp",
	"objects", "objects/*", "objects/*/*", "threads", "threads/a", "threads/a/artifacts", "threads/a/artifacts/dir", "threads/a/artifacts/dir/f",
	"staging", "logs", "logs/leslie.log", "logs/obj-default", "damaged", ".gitignore",
}

// hostileThings are what stands there instead. victim is a directory outside.
var hostileThings = []struct {
	name string
	put  func(path, victim string) error
}{
	{"link to a file", func(path, victim string) error { return os.Symlink(filepath.Join(victim, "file"), path) }},
	{"link to a directory", func(path, victim string) error { return os.Symlink(victim, path) }},
	{"dangling link", func(path, victim string) error { return os.Symlink(filepath.Join(victim, "new"), path) }},
	{"link within", func(path, _ string) error { return os.Symlink("thread_relations.json", path) }},
	{"link to itself", func(path, _ string) error { return os.Symlink(filepath.Base(path), path) }},
	{"pipe", func(path, _ string) error { return syscall.Mkfifo(path, 0o644) }},
	{"directory", func(path, _ string) error { return os.Mkdir(path, 0o755) }},
	{"socket", listenAt},
	{"device", func(path, _ string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5) }},
	{"empty file", func(path, _ string) error { return os.WriteFile(path, nil, 0o644) }},
	{"file that nobody may read", func(path, _ string) error { return fileOfMode(path, 0) }},
	{"file that nobody may write", func(path, _ string) error { return fileOfMode(path, 0o444) }},
	{"file that runs as its owner", func(path, _ string) error { return fileOfMode(path, 0o755|fs.ModeSetuid) }},
}

// listenAt leaves a socket; its path may be too long for one, so it is bound elsewhere.
func listenAt(path, _ string) error {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	short := filepath.Join(dir, "s")
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return err
	}
	socket.SetUnlinkOnClose(false)
	defer socket.Close()
	return os.Rename(short, path)
}

func fileOfMode(path string, mode fs.FileMode) error {
	if err := os.WriteFile(path, []byte("junk\n"), 0o644); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// hostileCommands are run on each store; content is what they get on stdin.
var hostileCommands = [][]string{
	{"init"}, {"list"}, {"status", "a"}, {"spawn", "--id", "n", "--intent", "x", "--parent", "a"}, {"artifact", "put", "a", "dir/f"},
	{"artifact", "put", "a", "new"}, {"artifact", "get", "a", "dir/f"}, {"inject", "--target", "a", "--type", "info", "--content", "x"},
	{"log"}, {"logs"}, {"doctor"}, {"doctor", "--repair"}, {"list"},
}

// TestHostilePlaces puts something else in the place of every file and
// directory of the store: each command has one answer with a code, within
// ten seconds, and nothing outside of the store is read or changed.
func TestHostilePlaces(t *testing.T) {
	wholeProcesses(t)
	template := newPlace(t)
	template.leslie("spawn", "--id", "a", "--intent", "x")
	put := exec.Command("leslie", "artifact", "put", "a", "dir/f")
	put.Dir, put.Stdin = template.dir, strings.NewReader("content\n")
	if out, err := put.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	stores, answers, codes, number := 0, 0, map[string]int{}, 0
	for _, place := range hostilePlaces {
		for _, thing := range hostileThings {
			if number++; !*full && number%23 != 0 {
				continue
			}
			h := hostile{T: t, what: thing.name + " for " + place, codes: codes}
			if !h.build(template.dir, place, thing.put) {
				continue
			}
			stores++
			for _, args := range hostileCommands {
				h.run(args)
				answers++
			}
		}
	}
	if t.Logf("%d stores with something else in a place, %d answers, every one coded, nothing outside read or changed: %v", stores, answers, codes); stores < 10 {
		t.Error("too few stores to say anything")
	}
}

// hostile is a store of which one place was replaced, and a directory outside.
type hostile struct {
	*testing.T
	what, dir, victim string
	before            string
	codes             map[string]int
}

func (h *hostile) build(template, place string, put func(path, victim string) error) bool {
	base, err := os.MkdirTemp(h.TempDir(), "")
	if err != nil {
		h.Fatal(err)
	}
	h.dir, h.victim = filepath.Join(base, "store"), filepath.Join(base, "victim")
	if err := os.CopyFS(h.dir, os.DirFS(template)); err != nil {
		h.Fatal(err)
	}
	for path, text := range map[string]string{"file": secret + "\n", "1.jsonl": secret + "\n", "leslie.log": secret + "\n", "sub/artifacts/dir/f": secret, "dir/f": secret} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(h.victim, path)), 0o755); err != nil {
			h.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.victim, path), []byte(text), 0o644); err != nil {
			h.Fatal(err)
		}
	}
	path := filepath.Join(h.dir, storeName, place)
	if found, _ := filepath.Glob(path); len(found) > 0 {
		path = found[0]
	} else if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		h.Fatal(err)
	}
	if err := put(path, h.victim); err != nil {
		if os.Geteuid() != 0 && strings.Contains(err.Error(), "not permitted") {
			return false
		}
		h.Fatalf("%s: %v", h.what, err)
	}
	h.before = h.outside()
	return true
}

// outside describes all that is beside the store, with bytes, modes and times.
func (h *hostile) outside() string {
	var out strings.Builder
	err := filepath.WalkDir(h.victim, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, _ := os.ReadFile(path)
		fmt.Fprintln(&out, path, info.Mode(), info.ModTime(), string(content))
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
	return out.String()
}

func (h *hostile) run(args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "leslie", append(args, "--json")...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = h.dir, strings.NewReader("new content\n"), &stdout, &stderr
	_ = cmd.Run()
	what := fmt.Sprintf("%s: leslie %s", h.what, strings.Join(args, " "))
	var answer struct {
		Success bool
		Error   struct{ Code string }
	}
	switch err := json.Unmarshal(stdout.Bytes(), &answer); {
	case ctx.Err() != nil:
		h.Errorf("%s has no answer", what)
	case err != nil || bytes.Count(stdout.Bytes(), []byte("\n")) != 1 || stderr.Len() > 0:
		h.Errorf("%s: not one response: %v: %.500q %.500q", what, err, stdout.String(), stderr.String())
	case answer.Success == (answer.Error.Code != "") || answer.Error.Code == "T901" || answer.Error.Code == "T902":
		h.Errorf("%s: %.500s", what, stdout.String())
	case strings.Contains(stdout.String(), secret):
		h.Errorf("%s shows what is outside: %.500s", what, stdout.String())
	case h.outside() != h.before:
		h.Errorf("%s has changed what is outside: %s", what, h.outside())
		h.before = h.outside()
	}
	h.codes[answer.Error.Code]++
}
