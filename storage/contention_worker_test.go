package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/retry"
)

// contender is what one process of the contention tests is told to do. The
// processes are the test binary, started again with this as its argument.
type contender struct {
	Kind   string // one of the keys of contenders
	Dir    string // of the store
	Number int    // which of the processes it is
	Writes int
	Retry  retry.Policy
}

// account is what a contender tells at its end.
type account struct {
	Ended      time.Time
	Operations []string // the ids under which its writes were acknowledged
	Revision   int64    // of its record, as the last acknowledged write gave it
	Last       item     // what that wrote
	Longest    time.Duration
	Failures   []failure
}

type failure struct {
	Code    errcodes.Code
	Message string
	Details map[string]string
}

// contenders are the kinds of processes: how each makes the writes it is told to.
var contenders = map[string]func(contender, *account){
	"bare":  contender.bare,
	"slept": contender.slept,
	"ours":  contender.ours,
	"hold":  contender.hold,
}

const contend = "contend"

// A contender must not run the tests, so it goes its way before they are looked for.
func init() {
	if len(os.Args) != 3 || os.Args[1] != contend {
		return
	}
	var c contender
	if err := json.Unmarshal([]byte(os.Args[2]), &c); err != nil {
		panic(err)
	}
	var told account
	contenders[c.Kind](c, &told)
	told.Ended = time.Now()
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// barrier is the pipe on which a contender waits until all may begin.
var barrier = os.NewFile(3, "barrier")

// atTheBarrier says that everything is prepared, and returns when all may begin.
func atTheBarrier() {
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, barrier); err != nil {
		panic(err)
	}
}

// each makes the writes, one after the other, and measures them.
func (c contender) each(told *account, write func(n int) error) {
	atTheBarrier()
	for n := range c.Writes {
		began := time.Now()
		err := write(n)
		told.Longest = max(told.Longest, time.Since(began))
		if err != nil {
			told.fail(err)
		}
	}
}

func (told *account) fail(err error) {
	coded := errcodes.Of(err)
	details := map[string]string{}
	for _, name := range []string{"attempts", "waited", "holder", "path"} {
		details[name] = fmt.Sprint(coded.Detail(name))
	}
	told.Failures = append(told.Failures, failure{Code: coded.Code, Message: err.Error(), Details: details})
}

// ours writes as commands do.
func (c contender) ours(told *account) {
	s := c.open(Options{Retry: c.Retry})
	c.each(told, func(n int) error { return c.put(s, told, n) })
}

// slept writes by the same schedule, and sleeps from one attempt to the next.
func (c contender) slept(told *account) {
	s := c.open(Options{Retry: retry.Policy{Attempts: 1}})
	c.each(told, func(n int) error {
		return retry.Do(ctx, retry.Default, func(context.Context) error { return c.put(s, told, n) }, retry.Options{})
	})
}

// hold keeps the lock until nobody needs it any more.
func (c contender) hold(*account) {
	held, err := c.open(Options{}).acquire(ctx)
	if err != nil {
		panic(err)
	}
	atTheBarrier()
	held.release()
}

func (c contender) open(options Options) *Store {
	s, err := Open(c.Dir, options)
	if err != nil {
		panic(err)
	}
	return s
}

// put changes the contender's own record, in a way that shows which write it was.
func (c contender) put(s *Store, told *account, n int) error {
	var revision int64
	value := contended(n)
	commit, warnings, err := s.Update(ctx, Operation{Name: "put", Operator: "agent", Actor: "contender"}, func(tx *Tx) error {
		record, err := tx.Put(contendedKey(c.Number), value)
		revision = record.Revision
		return err
	})
	if err != nil {
		return err
	}
	told.Operations = append(told.Operations, commit.OperationID)
	told.Revision, told.Last = revision, value
	if len(warnings) > 0 {
		return fmt.Errorf("warned: %v", warnings)
	}
	return nil
}

func contendedKey(number int) string { return fmt.Sprintf("thread/thread-%08d", number) }

// contended is a record of the size that a thread usually has.
func contended(n int) item {
	return item{Name: fmt.Sprintf("write %3d", n), Note: strings.Repeat("n", 365)}
}
