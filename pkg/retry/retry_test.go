package retry_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"
	"pgregory.net/rapid"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/retry"
)

const ms = time.Millisecond

var schedule = []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms, 5000 * ms}

// heldLock returns an attempt at a lock that another handle really holds.
func heldLock(t *testing.T) func(context.Context) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	holder := flock.New(path)
	if err := holder.Lock(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { holder.Unlock() })
	return func(context.Context) error {
		handle := flock.New(path)
		locked, err := handle.TryLock()
		if err != nil {
			return err
		}
		if locked {
			handle.Unlock()
			return nil
		}
		return errcodes.LockFailed.With("path", filepath.Base(path))
	}
}

func TestWholeScheduleAgainstHeldLock(t *testing.T) {
	try := heldLock(t)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at, heard []time.Duration
		err := retry.Do(context.Background(), retry.Policy{}, func(ctx context.Context) error {
			at = append(at, time.Since(start))
			return try(ctx)
		}, retry.Options{Notify: func(a retry.Attempt) { heard = append(heard, a.Wait) }})
		want := []time.Duration{0}
		for _, wait := range schedule {
			want = append(want, want[len(want)-1]+wait)
		}
		if !reflect.DeepEqual(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
		if !reflect.DeepEqual(heard, schedule) {
			t.Errorf("heard of waits %v, want %v", heard, schedule)
		}
		coded := errcodes.Of(err)
		if coded.Code != errcodes.LockFailed || coded.Detail("attempts") != 10 || coded.Detail("waited") != "21.3s" {
			t.Errorf("got %s %v, want T501 with attempts 10 and waited 21.3s", coded.Code, coded.Details)
		}
	})
}

func TestReleasedLockIsTakenAtTheNextAttempt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder := flock.New(path)
	if err := holder.Lock(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		go func() { time.Sleep(650 * ms); holder.Unlock() }()
		start := time.Now()
		err := retry.Do(context.Background(), retry.Policy{}, func(context.Context) error {
			if locked, _ := flock.New(path).TryLock(); !locked {
				return errcodes.LockFailed.With()
			}
			return nil
		}, retry.Options{})
		if err != nil || time.Since(start) != 700*ms {
			t.Errorf("got %v after %v, want success after 700ms", err, time.Since(start))
		}
	})
}

func TestCatalogueIsAskedFirst(t *testing.T) {
	calls := 0
	err := retry.Do(context.Background(), retry.Policy{}, func(context.Context) error {
		calls++
		return errcodes.ThreadNotFound.With("threadId", "x")
	}, retry.Options{})
	coded := errcodes.Of(err)
	if calls != 1 || coded.Code != errcodes.ThreadNotFound || coded.Detail("attempts") != nil {
		t.Errorf("%d calls, %s %v; want one call, T101 without attempts", calls, coded.Code, coded.Details)
	}
}

func TestOwnRuleReplacesTheCatalogue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := retry.Do(context.Background(), retry.Policy{Attempts: 3}, func(context.Context) error {
			calls++
			return os.ErrNotExist
		}, retry.Options{Retryable: func(err error) bool { return errors.Is(err, os.ErrNotExist) }})
		if calls != 3 || !errors.Is(err, os.ErrNotExist) || errcodes.Of(err).Detail("waited") != "300ms" {
			t.Errorf("%d calls, %v %v; want three calls and 300ms", calls, err, errcodes.Of(err).Details)
		}
	})
}

func TestCancellationKeepsTheLastError(t *testing.T) {
	try := heldLock(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() { time.Sleep(250 * ms); cancel(errcodes.Interrupted.With("signal", "SIGINT")) }()
		start := time.Now()
		err := retry.Do(ctx, retry.Policy{}, try, retry.Options{})
		if time.Since(start) != 250*ms {
			t.Errorf("ended after %v, want 250ms", time.Since(start))
		}
		if errcodes.Of(err).Code != errcodes.Interrupted || !errors.Is(err, errcodes.LockFailed) {
			t.Errorf("got %v, want T904 over T501", err)
		}
	})
}

func TestWaitFunctionMayComeBackEarly(t *testing.T) {
	calls := 0
	err := retry.Do(context.Background(), retry.Policy{}, func(context.Context) error {
		if calls++; calls < 3 {
			return errcodes.LockFailed.With()
		}
		return nil
	}, retry.Options{Wait: func(context.Context, time.Duration) error { return nil }})
	if err != nil || calls != 3 {
		t.Errorf("%v after %d calls, want success at the third", err, calls)
	}
}

func TestWaitsFollowThePolicy(t *testing.T) {
	if got := (retry.Policy{}).Waits(); !reflect.DeepEqual(got, schedule) {
		t.Errorf("default waits %v, want %v", got, schedule)
	}
	rapid.Check(t, func(t *rapid.T) {
		policy := retry.Policy{
			Attempts:   rapid.IntRange(1, 12).Draw(t, "attempts"),
			Initial:    time.Duration(rapid.IntRange(1, 500).Draw(t, "initial")) * ms,
			Max:        time.Duration(rapid.IntRange(500, 9000).Draw(t, "max")) * ms,
			Multiplier: rapid.Float64Range(1, 4).Draw(t, "multiplier"),
		}
		waits := policy.Waits()
		if len(waits) != policy.Attempts-1 {
			t.Fatalf("%d waits for %d attempts", len(waits), policy.Attempts)
		}
		for i, wait := range waits {
			if wait > policy.Max || i == 0 && wait != policy.Initial || i > 0 && wait < waits[i-1] {
				t.Fatalf("wait %d of %v breaks %+v", i, waits, policy)
			}
		}
	})
}
