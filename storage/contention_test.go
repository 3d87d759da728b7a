package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/retry"
)

// TestContention lets real processes write to one store, all beginning at
// once. None may be refused the lock, and nothing acknowledged may be lost,
// however many they are. In full it compares the throughput with that of a
// bare lock around the same calls, and with that of sleeping the schedule out.
func TestContention(t *testing.T) {
	if *full {
		measureContention(t)
		return
	}
	s := contendedStore(t)
	result := compete(t, s, "ours", 8, 5)
	result.mustHold(t, s)
}

// TestContentionWithoutLockFile takes the lock file away again and again while
// processes write: those that lock another file than the one before them must
// not write beside it.
func TestContentionWithoutLockFile(t *testing.T) {
	writes := 10
	if *full {
		writes = 100
	}
	s := contendedStore(t)
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				_ = os.Remove(filepath.Join(s.path, lockPath))
			}
		}
	}()
	result := compete(t, s, "ours", 8, writes)
	close(done)
	<-gone
	result.mustHold(t, s)
}

const (
	contendedWrites  = 10 // of each process
	contendedRecords = 128
)

// contentions are how many processes compete, and how often: the fewer they
// are, the sooner a round is over, and the more its length is a matter of luck.
var contentions = []struct{ processes, rounds int }{{1, 21}, {8, 11}, {32, 7}, {128, 3}}

// measureContention runs the kinds in turn, because a machine is not equally
// fast all the time, and compares those rounds that ran side by side.
// Sleeping is so slow that one round tells enough.
func measureContention(t *testing.T) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\nprocesses\tkind\twrites/s\twall\tT501\tlost\tlongest write\tof bare\t")
	var verdicts []string
	for _, c := range contentions {
		var bare, slept, ours contests
		for range c.rounds {
			bare = append(bare, run(t, "bare", c.processes))
			ours = append(ours, run(t, "ours", c.processes))
		}
		slept = append(slept, run(t, "slept", c.processes))
		beside := contests{run(t, "bare", c.processes)}
		bare.tell(table, c.processes, "bare", bare)
		slept.tell(table, c.processes, "slept", beside)
		ours.tell(table, c.processes, "ours", bare)
		verdicts = append(verdicts, ours.verdict(c.processes, bare))
	}
	table.Flush()
	t.Log(text.String() + strings.Join(verdicts, "\n"))
}

// run lets processes compete in a store of their own.
func run(t *testing.T, kind string, processes int) contest {
	t.Helper()
	s := contendedStore(t)
	defer os.RemoveAll(s.path)
	result := compete(t, s, kind, processes, contendedWrites)
	switch kind {
	case "bare":
		result.mustHaveWritten(t, s)
	case "ours":
		result.mustHold(t, s)
	default:
		result.lost = result.missing(t, s)
	}
	return result
}

// contests are the rounds of one kind.
type contests []contest

// tell writes one row of the table: of speed and wall the median, of what
// must not be the sum.
func (rounds contests) tell(table *tabwriter.Writer, processes int, kind string, bare contests) {
	var speeds []float64
	var walls []time.Duration
	var refused, lost int
	var longest time.Duration
	for _, c := range rounds {
		speeds = append(speeds, c.speed())
		walls = append(walls, c.wall)
		refused += c.refused()
		lost += c.lost
		longest = max(longest, c.longest())
	}
	fmt.Fprintf(table, "%d\t%s\t%.0f\t%v\t%d\t%d\t%v\t%.0f %%\t\n", processes, kind, median(speeds), median(walls).Round(time.Millisecond),
		refused, lost, longest.Round(time.Millisecond), rounds.share(bare))
}

// share is the speed of rounds in percent of those that ran beside them.
func (rounds contests) share(bare contests) float64 {
	var shares []float64
	for i, c := range rounds {
		shares = append(shares, 100*c.speed()/bare[i].speed())
	}
	return median(shares)
}

func (rounds contests) verdict(processes int, bare contests) string {
	verdict := "less than 90 %"
	if rounds.share(bare) >= 90 {
		verdict = "90 % or more"
	}
	return fmt.Sprintf("%d processes: %s of the bare throughput", processes, verdict)
}

func median[T float64 | time.Duration](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// TestLockHeldByAnotherProcess holds that a lock which is really held for
// longer than the schedule ends a write with T501, which tells how often and
// how long it was tried, and who held it. In full it is the schedule of ERR-04.
func TestLockHeldByAnotherProcess(t *testing.T) {
	policy := retry.Policy{Attempts: 4, Initial: 20 * time.Millisecond, Max: 40 * time.Millisecond}
	if *full {
		policy = retry.Default
	}
	s := newStore(t)
	end := newGate(t)
	holder := start(t, end, contender{Kind: "hold", Dir: s.path})
	holder.ready(t)
	begin := newGate(t)
	writer := start(t, begin, contender{Kind: "ours", Dir: s.path, Writes: 1, Retry: policy})
	writer.ready(t)
	begin.open()
	told := writer.end(t)
	if len(told.Operations) > 0 || len(told.Failures) != 1 {
		t.Fatalf("under a lock that another process holds: %+v", told)
	}
	failed := told.Failures[0]
	want := map[string]string{"attempts": fmt.Sprint(policy.Attempts), "holder": fmt.Sprint("pid ", holder.Process.Pid), "path": lockPath}
	for name, value := range want {
		if failed.Details[name] != value {
			t.Errorf("%s is %q, want %q", name, failed.Details[name], value)
		}
	}
	var schedule time.Duration
	for _, wait := range policy.Waits() {
		schedule += wait
	}
	waited, err := time.ParseDuration(failed.Details["waited"])
	if failed.Code != errcodes.LockFailed || err != nil || waited < schedule {
		t.Errorf("%s %v, want T501 after %v", failed.Code, failed.Details, schedule)
	}
	t.Logf("%s after %s attempts and %s, held by %s", failed.Code, failed.Details["attempts"], failed.Details["waited"], failed.Details["holder"])
	end.open()
	holder.end(t)
	put(t, s, contendedKey(0), contended(0))
	verify(t, s)
}
