package command

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
)

// place is a directory with a store in which real processes run.
type place struct {
	*testing.T
	dir string
}

func newPlace(t *testing.T) place {
	t.Helper()
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	p := place{t, t.TempDir()}
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

func (p place) try(args ...string) (gjson.Result, error) {
	cmd := exec.Command("leslie", append(args, "--json")...)
	cmd.Dir = p.dir
	stdout, err := cmd.Output()
	if err != nil {
		return gjson.Result{}, fmt.Errorf("leslie %q: %w: %s", args, err, stdout)
	}
	return gjson.GetBytes(stdout, "data"), nil
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

// TestSpawnsAtOnce holds that whatever many processes were told is done, is.
func TestSpawnsAtOnce(t *testing.T) {
	p := newPlace(t)
	var acknowledged [24][]string
	atOnce(len(acknowledged), func(i int) {
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

// TestWritesAtOnce lets 64 processes write three times each, to records and
// files: none may fail, whoever it has to wait for.
func TestWritesAtOnce(t *testing.T) {
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
// looks for everything that one of them had acknowledged.
func TestKilledSpawns(t *testing.T) {
	p := newPlace(t)
	var mutex sync.Mutex
	var acknowledged []string
	atOnce(4, func(int) {
		for range 15 {
			id := killedAtRandom(p.dir, []string{"leslie", "spawn", "--intent", "x", "--json"})
			mutex.Lock()
			if id != "" {
				acknowledged = append(acknowledged, id)
			}
			mutex.Unlock()
		}
	})
	t.Logf("%d of 60 came to answer", len(acknowledged))
	there := p.threads()
	for _, id := range acknowledged {
		if _, found := slices.BinarySearch(there, id); !found {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	p.healthy()
	last := p.leslie("spawn", "--intent", "go on").Get("threadId").Str
	p.tidy()
	p.healthy()
	if now := p.threads(); len(now) != len(there)+1 || !slices.Contains(now, last) {
		t.Errorf("there were %d threads, and one write later %d", len(there), len(now))
	}
}
