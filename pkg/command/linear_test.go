package command

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

var linearSeed = flag.Uint64("seed", 0, "the seed of TestLinearizable's first round; 0 takes one from the clock")

// checkTime bounds the search for an order, which takes milliseconds where
// there is one. A search that does not end counts as a failure.
const checkTime = 2 * time.Minute

// campaign is how much one form of the test does.
type campaign struct {
	clients, steps, subjects, rounds int
	kills                            float64 // the share of writers that are shot at
}

// way is one of the ways in which a round differs from others.
type way struct {
	shares shares
	few    int  // by how much there are fewer clients, who take more steps
	large  bool // the state is too large to be written with each command, and records fill the log fast
}

var ways = []way{{shares: busy, few: 1}, {shares: busy, few: 1, large: true}, {shares: quiet, few: 4}}

// TestLinearizable lets many processes read and write a few threads at once
// and holds that their answers are those of some order, one after the other,
// that keeps to the clock. Killed ones may have happened or not.
func TestLinearizable(t *testing.T) {
	wholeProcesses(t)
	c := campaign{clients: 8, steps: 8, subjects: 3, rounds: 3, kills: 0.3}
	if *full {
		c = campaign{clients: 32, steps: 25, subjects: 5, rounds: 6, kills: 0.3}
	}
	seed := *linearSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	var total tally
	for n := range uint64(c.rounds) {
		t.Run(fmt.Sprintf("seed=%d", seed+n), func(t *testing.T) {
			r := newRound(t, c, seed+n, ways[(seed+n)%3])
			defer total.add(r)
			r.run()
		})
	}
	t.Log(total)
}

// tally is what the rounds came to.
type tally struct {
	operations, processes, killed, late, busy, partitions int
	verdicts                                              []string
}

func (a *tally) add(r *round) {
	a.operations += len(r.history)
	a.processes += int(r.processes.Load())
	a.killed += int(r.killed.Load())
	a.late += int(r.late.Load())
	a.busy += int(r.busy.Load())
	a.partitions += len(byThread(r.history))
	a.verdicts = append(a.verdicts, fmt.Sprintf("%d %s", r.seed, r.verdict))
}

func (a tally) String() string {
	return fmt.Sprintf("linearizability: %d operations of %d processes, %d killed without an answer and %d after it, %d T501, %d partitions, %d rounds (%s)",
		a.operations, a.processes, a.killed, a.late, a.busy, a.partitions, len(a.verdicts), strings.Join(a.verdicts, ", "))
}

// round is one store, and what the processes did to it.
type round struct {
	place
	campaign
	way
	seed   uint64
	intent string // of the threads

	begun    time.Time
	usual    atomic.Int64 // how long the latest process took that nobody killed, in nanoseconds
	contents sync.Map     // the names of all contents, by their SHA-256
	doomed   sync.Map     // the victims that are to die while they hold the lock, by what its file says

	processes, killed, late, busy atomic.Int64

	lock    sync.Mutex
	history []porcupine.Operation
	verdict string
}

func newRound(t *testing.T, c campaign, seed uint64, w way) *round {
	c.clients, c.steps = c.clients/w.few, c.steps*w.few
	r := &round{place: newPlace(t), campaign: c, way: w, seed: seed, intent: "work", verdict: "not checked"}
	r.usual.Store(int64(longestLife))
	if w.large {
		r.leslie("spawn", "--count", "18", "--intent", strings.Repeat("ballast ", 8000))
		r.intent = strings.Repeat("work ", 12000)
	}
	return r
}

// run has the history made and checks it.
func (r *round) run() {
	r.begun = time.Now()
	over := make(chan struct{})
	go r.watchLock(over)
	atOnce(r.clients, r.client)
	r.lookBack()
	close(over)
	r.check()
	r.leslie("spawn", "--intent", "finish what a killed process has left")
	r.healthy()
	r.tidy()
}

// client makes one request after the other. What it asks follows from the
// seed; whom it kills, also from how long the others took.
func (r *round) client(i int) {
	random := rand.New(rand.NewPCG(r.seed, uint64(i)))
	for n := range r.steps {
		req, content := r.choose(random, i, n)
		r.perform(i, req, content, r.doom(random, req))
	}
}

// lookBack reads everything once more when nobody else writes, for each thread
// after a last writer that died at its commit and whose work nobody finishes.
func (r *round) lookBack() {
	for n := range r.subjects {
		content := fmt.Sprintf("last content of %d", n)
		r.contents.Store(sha([]byte(content)), content)
		id := threadNumber(n)
		r.perform(r.clients, request{name: "artifact put", thread: id, content: content}, []byte(content), fate{from: atCommit})
		for _, name := range []string{"status", "artifact get"} {
			r.perform(r.clients, request{name: name, thread: id}, nil, spared)
		}
	}
}

func threadNumber(n int) string { return fmt.Sprintf("thread-%d", n) }

// shares say how often each command is asked for, out of a hundred.
type shares []struct {
	name  string
	share int
}

// busy is as much writing as reading. In quiet there is time to read twice
// between two writes, so that what a killed one has left is looked at.
var (
	busy = shares{
		{"status", 25}, {"artifact get", 25}, {"artifact put", 20}, {"artifact remove", 6}, {"spawn", 4},
		{"suspend", 6}, {"resume", 5}, {"reopen", 3}, {"done", 2}, {"fail", 2}, {"cancel", 2},
	}
	quiet = shares{{"status", 43}, {"artifact get", 43}, {"artifact put", 8}, {"artifact remove", 3}, {"suspend", 1}, {"resume", 1}, {"spawn", 1}}
)

// pick returns the command at a place out of a hundred.
func (s shares) pick(at int) string {
	for _, one := range s {
		if at < one.share {
			return one.name
		}
		at -= one.share
	}
	return s[0].name
}

// choose picks the n-th request of client i and what it writes. Half of the
// clients begin with a thread, so that there are some soon, and some meet none.
func (r *round) choose(random *rand.Rand, i, n int) (request, []byte) {
	req := request{thread: threadNumber(random.IntN(r.subjects)), name: r.shares.pick(random.IntN(100))}
	if n == 0 && i%2 == 0 {
		req = request{name: "spawn", thread: threadNumber(i / 2 % r.subjects)}
	}
	if req.name != "artifact put" {
		return req, nil
	}
	req.content = fmt.Sprintf("content %d of client %d", n, i)
	content := []byte(strings.Repeat(req.content+"\n", 1+random.IntN(1000)))
	r.contents.Store(sha(content), req.content)
	return req, content
}

// check looks for an order, and shows the history where there is none.
func (r *round) check() {
	r.Helper()
	verdict, info := porcupine.CheckOperationsVerbose(threadModel, r.history, checkTime)
	r.verdict = map[porcupine.CheckResult]string{porcupine.Ok: "linearizable", porcupine.Illegal: "NOT LINEARIZABLE"}[verdict]
	if verdict == porcupine.Ok {
		return
	}
	if r.verdict == "" {
		r.verdict = "UNDECIDED"
	}
	r.Errorf("%s; repeat with -seed %d", r.verdict, r.seed)
	for i, partition := range byThread(r.history) {
		r.explain(partition, info.PartialLinearizationsOperations()[i])
	}
	picture, err := os.CreateTemp("", "linear-*.html")
	if err != nil {
		r.Fatal(err)
	}
	defer picture.Close()
	if err := porcupine.Visualize(threadModel, info, picture); err != nil {
		r.Fatal(err)
	}
	r.Logf("the history is drawn in %s", picture.Name())
}

// explain tells the end of the longest order that was found for a thread, and
// the first answer that has no place in it.
func (r *round) explain(partition []porcupine.Operation, orders [][]porcupine.Operation) {
	r.Helper()
	var longest []porcupine.Operation
	for _, order := range orders {
		if len(order) > len(longest) {
			longest = order
		}
	}
	if len(longest) == len(partition) {
		return
	}
	placed := map[porcupine.Operation]bool{}
	for _, operation := range longest {
		placed[operation] = true
	}
	var first *porcupine.Operation
	for _, operation := range partition {
		if !placed[operation] && (first == nil || operation.Return < first.Return) {
			first = &operation
		}
	}
	for _, operation := range longest[max(0, len(longest)-12):] {
		r.Logf("in order:  %s", moment(operation))
	}
	r.Logf("no place:  %s", moment(*first))
}

func moment(o porcupine.Operation) string {
	return fmt.Sprintf("%v to %v: %s", time.Duration(o.Call), time.Duration(o.Return), describe(o.Input.(request), o.Output.(reply)))
}
