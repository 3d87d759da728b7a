package command

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

const (
	stateFile  = "thread_relations.json"
	backupFile = stateFile + ".bak"
)

// wreck is a store that leslie made, of which some files are damaged.
type wreck struct {
	dir   string
	whole map[string][]byte // every file of the store by its path
	list  string            // what list answers
	hurt  map[string][]byte // the damaged files, nil for one that is gone
}

// damages are what befalls one file: each leaves something else than there was.
var damages = map[string]func(data []byte, at int) []byte{
	"missing":    func([]byte, int) []byte { return nil },
	"empty":      func([]byte, int) []byte { return []byte{} },
	"garbage":    func([]byte, int) []byte { return []byte("\x00garbage{{{\n\xff\xfe") },
	"an object":  func([]byte, int) []byte { return []byte("{}\n") },
	"truncated":  func(data []byte, at int) []byte { return data[:at] },
	"one bit":    func(data []byte, at int) []byte { data[at] ^= 1; return data },
	"a byte":     func(data []byte, at int) []byte { data[at] = ^data[at]; return data },
	"a newline":  func(data []byte, at int) []byte { data[at] = '\n' + data[at]%2*('0'-'\n'); return data },
	"zero tail":  func(data []byte, at int) []byte { clear(data[at:]); return data },
	"zero hole":  func(data []byte, at int) []byte { clear(data[at:min(len(data), at+500)]); return data },
	"text added": func(data []byte, at int) []byte { return slices.Insert(data, at, []byte("<<<<<<< HEAD\n")...) },
}

// TestDamageFromTheCommandLine damages the store that processes of leslie have made
// and lets them read, write, examine and repair it: every answer is one
// coded response, the data of a reader is the last that was acknowledged or he is refused, what is
// refused changes nothing, and a repair makes the store whole.
func TestDamageFromTheCommandLine(t *testing.T) {
	wholeProcesses(t)
	singles, triples := 1, 6
	if *full {
		singles, triples = 12, 120
	}
	const seed = 20260301
	random := rand.New(rand.NewPCG(seed, 0))
	made := fifty(t)
	var group sync.WaitGroup
	jobs := make(chan *wreck)
	count := outcomes{counts: map[string]int{}}
	for range 2 {
		w := &wreck{dir: filepath.Join(t.TempDir(), "place"), whole: made.whole}
		w.lay(t, made.whole)
		w.list = w.run(t, "list", "--all", "--limit", "1000", "--full").Get("data").Raw
		group.Go(func() {
			for job := range jobs {
				count.enter(t, job.hurt, w.suffer(t, job.hurt))
			}
		})
	}
	for _, hurt := range made.injuries(random, singles, triples) {
		jobs <- &wreck{hurt: hurt}
	}
	close(jobs)
	group.Wait()
	t.Logf("seed %d: %v", seed, count.counts)
}

// outcomes counts how the stores have fared.
type outcomes struct {
	sync.Mutex
	counts map[string]int
}

func (o *outcomes) enter(t *testing.T, hurt map[string][]byte, f lot) {
	o.Lock()
	defer o.Unlock()
	o.counts[f.class]++
	if f.err != nil {
		o.counts["wrong"]++
		t.Errorf("%v: %v", slices.Sorted(maps.Keys(hurt)), f.err)
	}
}

// fifty makes a store of fifty threads with everything that belongs to them.
func fifty(t *testing.T) *wreck {
	t.Helper()
	w := &wreck{dir: filepath.Join(t.TempDir(), "made")}
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.run(t, "init")
	w.run(t, "objective", "create", "--title", "parser", "--id", "obj-parser")
	first := w.run(t, "spawn", "--intent", "lead the work", "--objective", "obj-parser").Get("data.threadId").Str
	for n := range 6 {
		w.run(t, "spawn", "--intent", fmt.Sprintf("part %d, \"quoted\" and ünïcode", n), "--parent", first, "--count", "8", "--tag", "part")
		if err := os.WriteFile(filepath.Join(w.dir, "out.md"), bytes.Repeat([]byte("line\n"), n+1), 0o644); err != nil {
			t.Fatal(err)
		}
		w.run(t, "artifact", "put", first, fmt.Sprintf("out%d.md", n), "--file", "out.md")
	}
	w.run(t, "spawn", "--intent", "review", "--ref", first, "--id", "thread-review")
	w.whole = w.files(t)
	return w
}

// injuries chooses what is damaged: each file by itself in every way, and all three at random.
func (w *wreck) injuries(random *rand.Rand, singles, triples int) (all []map[string][]byte) {
	kinds := slices.Sorted(maps.Keys(damages))
	log := "ops/1.jsonl"
	one := func(path, kind string) []byte {
		return damages[kind](bytes.Clone(w.whole[path]), random.IntN(len(w.whole[path])-1))
	}
	for range singles {
		for _, kind := range kinds {
			for _, path := range []string{stateFile, backupFile, log} {
				all = append(all, map[string][]byte{path: one(path, kind)})
			}
		}
	}
	for range triples {
		hurt := map[string][]byte{}
		for _, path := range []string{stateFile, backupFile, log} {
			hurt[path] = one(path, kinds[random.IntN(len(kinds))])
		}
		all = append(all, hurt)
	}
	return all
}

// lot is how a damaged store has fared.
type lot struct {
	class string
	err   error
}
