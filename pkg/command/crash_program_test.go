package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/crash"
)

const crashingProgram = "leslie-crashing"

// plan says what leslie-crashing does beside what leslie does. The zero plan
// is leslie whose ids and times can be told beforehand.
type plan struct {
	Seed   string      // what ids are made of
	Fault  crash.Fault // strikes the n-th change of the disk; none where N is 0
	Record string      // a file that gets a line for each change that was made
	Broken defect      // what the build does wrong
	Synced bool        // it really waits for the disk

	made    int // ids
	changes int
}

// defect is one of the mistakes that a store must not make.
type defect string

const (
	noFileSync      defect = "no fsync"
	noDirectorySync defect = "no directory fsync"
	writeInPlace    defect = "write in place"
)

// runCrashing runs the arguments behind the first, which is a plan as JSON.
func runCrashing() {
	var p plan
	if err := json.Unmarshal([]byte(os.Args[1]), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	runProcess(process{commands: table, storage: storage.Options{Intercept: p.intercept, NewID: p.newID, Now: atNoon}}, os.Args[2:])
}

func atNoon() time.Time { return time.Date(2026, 2, 9, 12, 0, 0, 0, time.UTC) }

func (p *plan) newID() string {
	p.made++
	return fmt.Sprintf("%s%d", p.Seed, p.made)
}

func (p *plan) intercept(change *storage.Change, do func() error) error {
	switch {
	case p.Broken == writeInPlace && change.Call == "rename":
		return p.overwrite(change.Path, change.To)
	case p.Broken != "" && p.Broken != writeInPlace && change.Call == "sync" && isDirectory(change.Path) == (p.Broken == noDirectorySync):
		return nil
	}
	if change.Call == "sync" && !p.Synced { // a process that dies loses nothing by it; power cuts are built from the record
		do = func() error { return nil }
	}
	if p.changes++; p.strikes(p.changes) {
		return p.strike(change, do)
	}
	err := do()
	if p.Record != "" {
		p.record(change, err == nil)
	}
	return err
}

// overwrite is what a build does that knows nothing of renames: it writes the
// new content over the old.
func (p *plan) overwrite(from, to string) error {
	content, err := os.ReadFile(filepath.Join(storeName, from))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(storeName, to), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	return errors.Join(
		p.intercept(&storage.Change{Call: "truncate", Path: to}, func() error { return file.Truncate(0) }),
		p.intercept(&storage.Change{Call: "write", Path: to, Data: content}, func() error { _, err := file.Write(content); return err }),
		p.intercept(&storage.Change{Call: "remove", Path: from}, func() error { return os.Remove(filepath.Join(storeName, from)) }),
	)
}

func isDirectory(path string) bool {
	info, err := os.Lstat(filepath.Join(storeName, path))
	return err == nil && info.IsDir()
}

// strikes reports whether the n-th change is to go wrong.
func (p *plan) strikes(n int) bool {
	return p.Fault.N > 0 && (n == p.Fault.N || p.Fault.Lasting && n > p.Fault.N)
}

// strike makes the fault happen. A process that is to die does so at once.
func (p *plan) strike(change *storage.Change, do func() error) error {
	fault := p.Fault
	failed := &fs.PathError{Op: change.Call, Path: change.Path, Err: fault.Errno}
	switch fault.Mode {
	case crash.Torn, crash.Short:
		if len(change.Data) < 2 {
			return do()
		}
		change.Data = change.Data[:len(change.Data)/2]
		_ = do()
	case crash.KillAfter, crash.FailLate:
		_ = do()
	}
	switch fault.Mode {
	case crash.KillBefore, crash.KillAfter, crash.Torn:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case crash.Fail:
		if fault.Lasting && fault.Errno == syscall.ENOSPC && change.Call == "remove" {
			return do() // what a full disk still allows
		}
	}
	return failed
}

// tried is a change as it is recorded: one that failed by itself counts too.
type tried struct {
	storage.Change
	Made bool
}

func (p *plan) record(change *storage.Change, made bool) {
	line, err := json.Marshal(tried{*change, made})
	if err != nil {
		panic(err)
	}
	file, err := os.OpenFile(p.Record, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := file.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

// recorded reads what a plan recorded, as calls below the directory of the project.
func recorded(path string) ([]crash.Call, error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // nothing was changed
		return nil, err
	}
	var calls []crash.Call
	for line := range strings.Lines(string(content)) {
		var change tried
		if err := json.Unmarshal([]byte(line), &change); err != nil {
			return nil, err
		}
		call := crash.Call{Made: change.Made, Kind: change.Call, Path: filepath.Join(storeName, change.Path), Data: change.Data, At: change.At, To: change.To}
		if change.To != "" && change.Call != crash.Symlink {
			call.To = filepath.Join(storeName, change.To)
		}
		calls = append(calls, call)
	}
	return calls, nil
}
