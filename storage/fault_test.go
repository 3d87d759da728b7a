package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/retry"
)

// failing makes the n-th change of the disk fail with errno, once; late lets
// the call do its work first, and short lets half of a write through. It
// returns the counter of changes.
func failing(s *Store, n int, errno error, late, short bool) *int {
	count := new(int)
	s.disk.Intercept = func(change *Change, do func() error) error {
		if *count++; *count != n {
			return do()
		}
		if short && change.Call == "write" {
			change.Data = change.Data[:len(change.Data)/2]
		}
		if late || short && change.Call == "write" {
			_ = do()
		}
		return errno
	}
	return count
}

// failAt makes every change that matches fail with errno.
func failAt(s *Store, errno error, matches func(*Change) bool) {
	s.disk.Intercept = func(change *Change, do func() error) error {
		if matches(change) {
			return errno
		}
		return do()
	}
}

func syncsLog(change *Change) bool {
	return change.Call == "sync" && strings.HasSuffix(change.Path, ".jsonl")
}

// TestEveryCallFails makes each call of an update fail in turn: what was
// acknowledged is there, what failed is not, and the next update works.
func TestEveryCallFails(t *testing.T) {
	update := func(s *Store) error {
		content := "thing\n"
		if err := os.WriteFile(filepath.Join(s.path, "source"), []byte(content), 0o644); err != nil {
			return err
		}
		after, _ := s.sum("source")
		_, _, err := s.Update(ctx, Operation{Name: "hit"}, func(tx *Tx) error {
			if err := tx.Publish(File{Path: "files/deep/a", From: "source", After: after, Mode: 0o644}); err != nil {
				return err
			}
			_, err := tx.Put("thread/hit", item{Name: "hit"})
			return err
		})
		return err
	}
	injected := 0
	for _, errno := range []error{syscall.ENOSPC, syscall.EIO, syscall.EROFS} {
		for _, mode := range []string{"fail", "late", "short"} {
			for n := 1; ; n++ {
				s, want := seeded(t)
				count := failing(s, n, errno, mode == "late", mode == "short")
				err := update(s)
				s.disk.Intercept = nil
				if *count < n {
					break
				}
				injected++
				what := fmt.Sprintf("%v %s at call %d", errno, mode, n)
				with := maps.Clone(want)
				with["thread/hit"] = `{"name":"hit"} r1`
				settleAfterFault(t, s, what, err, want, with)
			}
		}
	}
	if injected < 100 {
		t.Errorf("only %d faults were injected", injected)
	}
}

// settleAfterFault checks the state right after a fault and after one more update.
func settleAfterFault(t *testing.T, s *Store, what string, err error, without, with map[string]string) {
	t.Helper()
	got, _ := contents(t, s)
	switch {
	case err == nil && !maps.Equal(got, with):
		t.Errorf("%s: acknowledged and lost: %v", what, got)
	case errors.Is(err, errcodes.OutcomeUnknown) && (maps.Equal(got, with) || maps.Equal(got, without)):
	case errors.Is(err, errcodes.WriteFailed) && !maps.Equal(got, without):
		t.Errorf("%s: failed and done: %v", what, got)
	case err != nil && !errors.Is(err, errcodes.WriteFailed):
		t.Errorf("%s: %v", what, err)
	}
	put(t, s, "thread/next", item{})
	_, published := s.disk.Stat("files/deep/a")
	if there := published == nil; there != (got["thread/hit"] != "") {
		t.Errorf("%s: record there %v, file there %v", what, got["thread/hit"] != "", there)
	}
	s.remove(t, "source")
	noTemporaries(t, s, what)
	verify(t, s)
}

func noTemporaries(t *testing.T, s *Store, what string) {
	t.Helper()
	fs.WalkDir(s.disk.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") || strings.HasPrefix(path, stagingPath+"/") {
			t.Errorf("%s: %s stays", what, path)
		}
		return nil
	})
}

func TestFsyncFailsTwiceIsUnknown(t *testing.T) {
	s, _ := seeded(t)
	failAt(s, syscall.EIO, syncsLog)
	_, _, err := s.Update(ctx, Operation{Name: "hit"}, func(tx *Tx) error { _, err := tx.Put("a/1", item{}); return err })
	coded := errcodes.Of(err)
	if coded.Code != errcodes.OutcomeUnknown || coded.Effect != errcodes.Unknown || !strings.HasPrefix(coded.Detail("operationId").(string), "op-") {
		t.Errorf("got %v %v", err, coded)
	}
}

func TestLineThatCannotBeCutOffIsUnknown(t *testing.T) {
	s, _ := seeded(t)
	s.disk.Intercept = func(change *Change, do func() error) error {
		switch change.Call {
		case "write":
			return errors.Join(syscall.EIO, do())
		case "truncate":
			return syscall.EIO
		}
		return do()
	}
	_, _, err := s.Update(ctx, Operation{Name: "hit"}, func(tx *Tx) error { _, err := tx.Put("a/1", item{}); return err })
	if coded := errcodes.Of(err); coded.Code != errcodes.OutcomeUnknown || coded.Effect != errcodes.Unknown {
		t.Errorf("got %v", err)
	}
	s.disk.Intercept = nil
	if got, _ := contents(t, s); got["a/1"] == "" {
		t.Error("the line was not there whole: the test tries nothing")
	}
}

func TestFsyncFailsOnceIsWrittenAfresh(t *testing.T) {
	s, _ := seeded(t)
	synced, truncated := 0, 0
	s.disk.Intercept = func(change *Change, do func() error) error {
		if syncsLog(change) {
			if synced++; synced == 1 {
				return syscall.EIO
			}
		}
		if change.Call == "truncate" {
			truncated++
		}
		return do()
	}
	put(t, s, "a/1", item{})
	if synced != 2 || truncated != 1 {
		t.Errorf("%d syncs, %d cuts; the line was not written afresh", synced, truncated)
	}
	verify(t, s)
}

// TestInterruptedPublicationIsFinished stops after the commit and before the file.
func TestInterruptedPublicationIsFinished(t *testing.T) {
	for _, edited := range []bool{false, true} {
		s, _ := seeded(t)
		s.write(t, "source", []byte("new"))
		after, _ := s.sum("source")
		failAt(s, syscall.EIO, func(change *Change) bool { return change.Call == "rename" && change.To == "a" })
		_, warnings, err := s.Update(ctx, Operation{Name: "publish"}, func(tx *Tx) error {
			return tx.Publish(File{Path: "a", From: "source", After: after, Mode: 0o640})
		})
		s.disk.Intercept = nil
		if err != nil {
			t.Fatalf("%v %v", err, warnings)
		}
		if edited {
			s.write(t, "a", []byte("by an agent"))
		}
		put(t, s, "thread/next", item{})
		want := map[bool]string{false: "new", true: "by an agent"}[edited]
		if got := string(s.file(t, "a")); got != want {
			t.Errorf("edited %v: file holds %q, want %q", edited, got, want)
		}
		noTemporaries(t, s, "")
	}
}

// TestEditedMeanwhile edits a file between the moment at which an update has
// seen it and its commit: the update is made anew, with what it then finds.
func TestEditedMeanwhile(t *testing.T) {
	for edits, want := range map[int]error{1: nil, 5: errcodes.WriteFailed} {
		s, _ := seeded(t)
		s.write(t, "source", []byte("new"))
		after, _ := s.sum("source")
		calls := 0
		_, _, err := s.Update(ctx, Operation{Name: "publish"}, func(tx *Tx) error {
			before, _ := s.sum("a")
			if calls++; calls <= edits {
				s.write(t, "a", fmt.Append(nil, "edit ", calls))
			}
			return tx.Publish(File{Path: "a", From: "source", Before: before, After: after, Mode: 0o644})
		})
		if !errors.Is(err, want) {
			t.Errorf("%d edits: %v", edits, err)
		}
		if got := string(s.file(t, "a")); want == nil && (got != "new" || calls != 2) || want != nil && got != "edit 3" {
			t.Errorf("%d edits: the file holds %q after %d calls", edits, got, calls)
		}
		s.remove(t, "source")
		noTemporaries(t, s, "")
		verify(t, s)
	}
}

func TestPublicationOutsideIsRefused(t *testing.T) {
	s := newStore(t)
	os.Symlink(t.TempDir(), filepath.Join(s.path, "way-out"))
	for _, path := range []string{"../x", "/x", "a/../../x", ".", ""} {
		_, _, err := s.Update(ctx, Operation{}, func(tx *Tx) error { return tx.Publish(File{Path: path}) })
		if err == nil {
			t.Errorf("%q was taken", path)
		}
	}
	_, _, err := s.Update(ctx, Operation{}, func(tx *Tx) error {
		s.write(t, "source", []byte("x"))
		after, _ := s.sum("source")
		return tx.Publish(File{Path: "way-out/x", From: "source", After: after, Mode: 0o644})
	})
	if entries, _ := os.ReadDir(filepath.Join(s.path, "way-out")); len(entries) > 0 {
		t.Errorf("written outside: %v %v", entries, err)
	}
}

func holdLock(t *testing.T, s *Store) *flock.Flock {
	t.Helper()
	lock := flock.New(filepath.Join(s.path, lockPath))
	if locked, err := lock.TryLock(); !locked || err != nil {
		t.Fatal(locked, err)
	}
	t.Cleanup(func() { lock.Unlock() })
	return lock
}

func TestHeldLockGivesT501(t *testing.T) {
	s := newStore(t)
	holdLock(t, s)
	s.options.Retry = retry.Policy{Attempts: 3, Initial: 10 * time.Millisecond}
	var heard []int
	s.options.OnAttempt = func(a retry.Attempt) { heard = append(heard, a.Number) }
	_, _, err := s.Update(ctx, Operation{}, func(*Tx) error { return nil })
	coded := errcodes.Of(err)
	if coded.Code != errcodes.LockFailed || coded.Detail("attempts") != 3 || coded.Detail("holder") != fmt.Sprint("pid ", os.Getpid()) {
		t.Errorf("got %v %v", err, coded.Details)
	}
	if fmt.Sprint(heard) != "[1 2]" {
		t.Errorf("heard of attempts %v", heard)
	}
}

func TestReleasedLockIsTakenAtOnce(t *testing.T) {
	s := newStore(t)
	lock := holdLock(t, s)
	s.options.Retry = retry.Policy{Attempts: 2, Initial: time.Minute, Max: time.Minute}
	s.options.OnAttempt = func(retry.Attempt) { lock.Unlock() }
	start := time.Now()
	put(t, s, "a/1", item{})
	if time.Since(start) > 30*time.Second {
		t.Error("the whole wait was slept out")
	}
}

func TestCancelledWaitEndsAndReleasesALateLock(t *testing.T) {
	s := newStore(t)
	lock := holdLock(t, s)
	cancelled, cancel := context.WithCancelCause(ctx)
	s.options.OnAttempt = func(retry.Attempt) { cancel(errcodes.Interrupted.With("signal", "SIGINT")) }
	_, _, err := s.Update(cancelled, Operation{}, func(*Tx) error { return nil })
	if errcodes.Of(err).Code != errcodes.Interrupted || !errors.Is(err, errcodes.LockFailed) {
		t.Errorf("got %v", err)
	}
	// The next one stands behind it in the queue. The garbage collector would
	// close, and so release, a lock that was forgotten.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	s.options.Retry = retry.Policy{Attempts: 3, Initial: 20 * time.Millisecond, Multiplier: 1000, Max: 10 * time.Second}
	s.options.OnAttempt = func(a retry.Attempt) {
		if a.Number == 2 {
			lock.Unlock()
		}
	}
	put(t, s, "a/1", item{})
}

func TestReplacedLockFileNeverAllowsTwoWriters(t *testing.T) {
	s := newStore(t)
	_, _, err := s.Update(ctx, Operation{}, func(tx *Tx) error {
		s.remove(t, lockPath)
		other := open(t, s.path)
		other.options.Retry = retry.Policy{Attempts: 2, Initial: 10 * time.Millisecond}
		if _, err := other.acquire(ctx); !errors.Is(err, errcodes.LockFailed) {
			t.Errorf("two hold the lock: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "a/1", item{}) // when the one that came in vain is gone
	first := holdLock(t, s)
	s.options.Retry = retry.Policy{Attempts: 3, Initial: 20 * time.Millisecond, Multiplier: 1000, Max: time.Minute}
	s.options.OnAttempt = func(a retry.Attempt) {
		if a.Number == 2 { // it waits for the file that is there no more
			s.remove(t, lockPath)
			s.write(t, lockPath, nil)
			first.Unlock()
		}
	}
	held, err := s.acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	if locked, err := flock.New(filepath.Join(s.path, lockPath)).TryLock(); locked || err != nil {
		t.Errorf("holds a lock on a file that is gone: %v %v", locked, err)
	}
}
