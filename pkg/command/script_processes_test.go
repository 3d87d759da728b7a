package command

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"
)

// place is a directory with a store in which real processes run.
type place struct {
	*testing.T
	dir string
}

func emptyPlace(t *testing.T) place {
	t.Helper()
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	return place{t, t.TempDir()}
}

func newPlace(t *testing.T) place {
	t.Helper()
	p := emptyPlace(t)
	p.leslie("init")
	return p
}

// leslie runs a process and returns its data; it fails the test where that does.
func (p place) leslie(args ...string) gjson.Result {
	p.Helper()
	answer, err := p.try(args...)
	if err != nil {
		p.Fatal(err)
	}
	return answer
}

// try runs a process and returns its data. A warning is an error here.
func (p place) try(args ...string) (gjson.Result, error) {
	cmd := exec.Command("leslie", append(args, "--json")...)
	cmd.Dir = p.dir
	stdout, err := cmd.Output()
	answer := gjson.ParseBytes(stdout)
	if err != nil {
		return gjson.Result{}, fmt.Errorf("leslie %q: %w: %s", args, err, stdout)
	}
	if warnings := answer.Get("warnings"); warnings.Raw != "[]" {
		return gjson.Result{}, fmt.Errorf("leslie %q warns: %s", args, warnings.Raw)
	}
	return answer.Get("data"), nil
}

// atOnce runs work for every number below n, all at the same time.
func atOnce(n int, work func(i int)) {
	var group sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-begin
			work(i)
		})
	}
	close(begin)
	group.Wait()
}

// threads returns the ids of all threads of the store, sorted.
func (p place) threads() []string {
	p.Helper()
	var ids []string
	for _, thread := range p.leslie("list", "--all", "--limit", "1000", "--full").Get("threads.#.id").Array() {
		ids = append(ids, thread.Str)
	}
	slices.Sort(ids)
	return ids
}

func (p place) healthy() {
	p.Helper()
	if report := p.leslie("doctor"); !report.Get("healthy").Bool() {
		p.Errorf("the doctor finds problems: %s", report.Get("problems").Raw)
	}
}

// tidy checks that no file is there that was only to be for the time of a write.
func (p place) tidy() {
	p.Helper()
	err := filepath.WalkDir(filepath.Join(p.dir, storeName), func(path string, entry fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") || filepath.Base(filepath.Dir(path)) == "staging" {
			p.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		p.Error(err)
	}
}

// TestSpawnsAtOnce holds that whatever many processes were told is done, is,
// and that those that read meanwhile see whole states only, none of which is
// older than the one before.
func TestSpawnsAtOnce(t *testing.T) {
	wholeProcesses(t)
	p := newPlace(t)
	var acknowledged [24][]string
	var writers sync.WaitGroup
	writers.Add(len(acknowledged))
	done := make(chan struct{})
	go func() {
		writers.Wait()
		close(done)
	}()
	atOnce(len(acknowledged)+2, func(i int) {
		if i >= len(acknowledged) {
			p.watch(done)
			return
		}
		defer writers.Done()
		for n := range 5 {
			made, err := p.try("spawn", "--intent", fmt.Sprintf("work %d of %d", n, i))
			if err != nil {
				t.Error(err)
				return
			}
			acknowledged[i] = append(acknowledged[i], made.Get("threadId").Str)
		}
	})
	told := slices.Sorted(slices.Values(slices.Concat(acknowledged[:]...)))
	if there := p.threads(); len(told) != 120 || !slices.Equal(told, there) {
		t.Errorf("%d were acknowledged, %d are there", len(told), len(there))
	}
	if count := p.leslie("log", "--limit", "1000", "--full").Get("count").Int(); count != 120 {
		t.Errorf("the log has %d operations", count)
	}
	p.healthy()
	p.tidy()
}

// watch lists the threads again and again until done is closed.
func (p place) watch(done <-chan struct{}) {
	seen := int64(0)
	for {
		select {
		case <-done:
			return
		default:
		}
		listed, err := p.try("list", "--limit", "1000", "--full")
		if err != nil {
			p.Error(err)
			return
		}
		if count := listed.Get("count").Int(); count < seen {
			p.Errorf("after %d threads a reader saw %d", seen, count)
		} else {
			seen = count
		}
	}
}

// TestInitsAtOnce holds that one of many makes the store, and the others find it.
func TestInitsAtOnce(t *testing.T) {
	wholeProcesses(t)
	p := emptyPlace(t)
	var created atomic.Int32
	atOnce(20, func(int) {
		made, err := p.try("init")
		if err != nil {
			t.Error(err)
		}
		if made.Get("created").Bool() {
			created.Add(1)
		}
	})
	if created.Load() != 1 {
		t.Errorf("%d processes made the store", created.Load())
	}
	p.healthy()
	p.tidy()
}

// TestWritesAtOnce lets 64 processes write three times each, to records and
// files: none may fail, whoever it has to wait for.
func TestWritesAtOnce(t *testing.T) {
	wholeProcesses(t)
	p := newPlace(t)
	p.leslie("spawn", "--id", "shared", "--intent", "be written to")
	source := filepath.Join(p.dir, "source")
	if err := os.WriteFile(source, []byte("content\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	atOnce(64, func(i int) {
		id := fmt.Sprintf("own-%d", i)
		for _, line := range [][]string{
			{"spawn", "--id", id, "--intent", "x"},
			{"artifact", "put", "shared", fmt.Sprintf("%d.md", i), "--file", source},
			{"done", id},
		} {
			if _, err := p.try(line...); err != nil {
				t.Error(err)
			}
		}
	})
	if revision := p.leslie("status", "shared").Get("thread.revision").Int(); revision != 65 {
		t.Errorf("the shared thread is at revision %d", revision)
	}
	if count := p.leslie("list", "--status", "completed", "--limit", "1000", "--full").Get("count").Int(); count != 64 {
		t.Errorf("%d threads are completed", count)
	}
	if total := p.leslie("artifact", "list", "shared").Get("total").Int(); total != 64 {
		t.Errorf("there are %d artifacts", total)
	}
	p.healthy()
	p.tidy()
}

// TestKilledSpawns kills processes at random moments, some at a time, and
// looks for everything that one of them had acknowledged: the thread, its
// place among its parent's children, and each of the artifacts it inherits.
func TestKilledSpawns(t *testing.T) {
	wholeProcesses(t)
	p := newPlace(t)
	p.leslie("spawn", "--id", "parent", "--intent", "have artifacts")
	inherited := map[string][]byte{"notes.md": []byte("rows\n"), "src/big.go": bytes.Repeat([]byte("x"), 100_000), "src/empty": nil}
	for path, content := range inherited {
		file := filepath.Join(p.dir, "source")
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
		p.leslie("artifact", "put", "parent", path, "--file", file)
	}
	acknowledged := p.killed(60, "spawn", "--intent", "x", "--parent", "parent")
	if n := len(acknowledged); n < 6 || n > 54 {
		t.Errorf("%d of 60 came to answer, which says little", n)
	}
	there := p.threads()
	p.healthy()
	p.leslie("spawn", "--id", "last", "--intent", "go on")
	p.tidy()
	p.healthy()
	if now := p.threads(); len(now) != len(there)+1 || !slices.Contains(now, "last") {
		t.Errorf("there were %d threads, and one write later %d", len(there), len(now))
	}
	var children []string
	for _, child := range p.leslie("status", "parent", "--full").Get("thread.children").Array() {
		children = append(children, child.Str)
	}
	for _, id := range acknowledged {
		if !slices.Contains(there, id) || !slices.Contains(children, id) {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	p.hold(children, inherited)
}

// killed starts a command n times, some at once, kills it each time at a
// random moment of a life that is lengthened until about half of them come to
// answer, however busy the machine is, and returns the threadIds of the answers.
func (p place) killed(n int, args ...string) []string {
	const abreast = 4
	var acknowledged [abreast][]string
	atOnce(abreast, func(i int) {
		life := longestLife
		for range n / abreast {
			var stdout bytes.Buffer
			ctx, cancel := context.WithTimeout(context.Background(), life/2+rand.N(life/2))
			cmd := exec.CommandContext(ctx, "leslie", append(args, "--json")...)
			cmd.Dir, cmd.Stdout = p.dir, &stdout
			_ = cmd.Run()
			cancel()
			if id := gjson.GetBytes(stdout.Bytes(), "data.threadId").Str; id != "" {
				acknowledged[i] = append(acknowledged[i], id)
				life = life * 3 / 4
			} else {
				life = life * 4 / 3
			}
		}
	})
	return slices.Concat(acknowledged[:]...)
}

// hold checks that each of the threads has exactly these artifacts.
func (p place) hold(threads []string, want map[string][]byte) {
	p.Helper()
	for _, id := range threads {
		dir := os.DirFS(filepath.Join(p.dir, storeName, "threads", id, "artifacts"))
		found := 0
		err := fs.WalkDir(dir, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			found++
			content, err := fs.ReadFile(dir, path)
			if !bytes.Equal(content, want[path]) {
				p.Errorf("%s has %d bytes of %s, and its parent %d", id, len(content), path, len(want[path]))
			}
			return err
		})
		if err != nil || found != len(want) {
			p.Errorf("%s has %d artifacts, and its parent %d: %v", id, found, len(want), err)
		}
	}
}
