package storage

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
)

// contest is what came of processes that competed for one lock.
type contest struct {
	accounts []account
	wall     time.Duration // from the barrier's fall to the end of the last process's work
	lost     int           // acknowledged writes that are not there
}

// compete starts processes of a kind, lets them begin at once, and hears them.
func compete(t *testing.T, s *Store, kind string, processes, writes int) contest {
	t.Helper()
	if kind == "bare" {
		record(t, s)
	}
	running := make([]*process, processes)
	gate := newGate(t)
	for i := range running {
		running[i] = start(t, gate, contender{Kind: kind, Dir: s.path, Number: i, Writes: writes})
	}
	for _, p := range running {
		p.ready(t)
	}
	began := gate.open()
	result := contest{accounts: make([]account, processes)}
	for i, p := range running {
		result.accounts[i] = p.end(t)
		result.wall = max(result.wall, result.accounts[i].Ended.Sub(began))
	}
	return result
}

// contendedStore has a record for each of the processes, so that it is of the
// same size however many they are.
func contendedStore(t *testing.T) *Store {
	t.Helper()
	s := newStore(t)
	_, _, err := s.Update(ctx, Operation{Name: "fill"}, func(tx *Tx) error {
		for number := range contendedRecords {
			if _, err := tx.Put(contendedKey(number), contended(-1)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (c contest) acknowledged() int {
	sum := 0
	for _, a := range c.accounts {
		sum += len(a.Operations)
	}
	return sum
}

func (c contest) speed() float64 { return float64(c.acknowledged()) / c.wall.Seconds() }

func (c contest) refused() int {
	sum := 0
	for _, a := range c.accounts {
		for _, f := range a.Failures {
			if f.Code == errcodes.LockFailed {
				sum++
			}
		}
	}
	return sum
}

func (c contest) longest() time.Duration {
	var longest time.Duration
	for _, a := range c.accounts {
		longest = max(longest, a.Longest)
	}
	return longest
}

// mustHold fails the test where a process was refused or the store does not
// hold exactly what they were told.
func (c *contest) mustHold(t *testing.T, s *Store) {
	t.Helper()
	for i, a := range c.accounts {
		for _, f := range a.Failures {
			t.Errorf("process %d of %d: %s: %s %v", i, len(c.accounts), f.Code, f.Message, f.Details)
		}
	}
	if c.lost = c.missing(t, s); c.lost > 0 {
		t.Errorf("of %d writes that %d processes were told are done, %d are lost", c.acknowledged(), len(c.accounts), c.lost)
	}
	verify(t, s)
}

// missing counts the acknowledged writes that are not in the log, or that a
// record's revision does not count, and fails the test where a record is not
// what its process wrote last.
func (c contest) missing(t *testing.T, s *Store) int {
	t.Helper()
	logged := c.logged(t, s)
	records, warnings := contents(t, s)
	for _, w := range warnings {
		t.Errorf("reading warns: %v", w)
	}
	lost := 0
	for number, a := range c.accounts {
		absent := 0
		for _, id := range a.Operations {
			if !logged[id] {
				absent++
			}
		}
		if len(a.Operations) == 0 {
			continue
		}
		uncounted := int64(len(a.Operations)+1) - a.Revision
		lost += max(absent, int(uncounted))
		last, _ := encode(a.Last)
		if want := fmt.Sprintf("%s r%d", last, len(a.Operations)+1); records[contendedKey(number)] != want {
			t.Errorf("process %d left %s, want %s", number, records[contendedKey(number)], want)
		}
	}
	return lost
}

// logged returns the operations of the log, each of which was made once, and
// beside which there is only the one that filled the store.
func (c contest) logged(t *testing.T, s *Store) map[string]bool {
	t.Helper()
	list, _, _, err := s.Operations(Query{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != c.acknowledged()+1 {
		t.Errorf("%d writes were acknowledged, the log has %d", c.acknowledged(), len(list)-1)
	}
	logged := map[string]bool{}
	for _, op := range list {
		logged[op.OperationID] = true
	}
	return logged
}

// gate is the parent's side of the barrier.
type gate struct{ read, write *os.File }

func newGate(t *testing.T) gate {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		read.Close()
		write.Close()
	})
	return gate{read, write}
}

// open lets those go that wait, and returns when it did.
func (g gate) open() time.Time {
	now := time.Now().Round(0)
	g.write.Close()
	return now
}

// process is a contender that runs.
type process struct {
	*exec.Cmd
	out *bufio.Reader
}

func start(t *testing.T, g gate, c contender) *process {
	t.Helper()
	told, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], contend, string(told))
	cmd.ExtraFiles, cmd.Stderr = []*os.File{g.read}, os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	limit := time.Minute
	if *full {
		limit = 6 * time.Minute
	}
	alarm := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		alarm.Stop()
		_ = cmd.Process.Kill()
	})
	return &process{cmd, bufio.NewReader(stdout)}
}

func (p *process) ready(t *testing.T) {
	t.Helper()
	if line, err := p.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("process %d says %q: %v", p.Process.Pid, line, err)
	}
}

// end returns what the process told at its end.
func (p *process) end(t *testing.T) account {
	t.Helper()
	var told account
	if err := json.NewDecoder(p.out).Decode(&told); err != nil {
		t.Fatalf("process %d: %v", p.Process.Pid, err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	return told
}
