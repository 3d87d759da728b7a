package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/retry"
)

// Writers are serialised by flock(2) on a file that is made once and never
// removed. The kernel drops the lock with its holder, so there is no stale
// lock and nothing to take over.
//
// The schedule of ERR-04 says how long an attempt may wait at most. The first
// attempt is a try; after it one goroutine stands in the kernel's queue while
// the caller waits for it, for the schedule's next mark, or for its context.
// So a lock that is released early is taken at once, in the order of asking,
// and T501 still comes when the schedule is over. A lock that arrives after
// its caller has gone is released at once.
//
// A person or a clean-up may remove the lock file while it is locked, and
// whoever comes next makes another and locks that. So the holder locks the
// directory of the store as well, which cannot be replaced under its hands.

// latch is the lock: that of the lock file, and behind it that of the directory.
type latch struct{ lock, dir *flock.Flock }

func (s *Store) newLatch() latch {
	return latch{
		lock: flock.New(filepath.Join(s.path, lockPath), flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK), flock.SetPermissions(0o644)),
		dir:  flock.New(s.path, flock.SetFlag(os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW)),
	}
}

// try locks both if nobody holds either. A file system that does not lock
// directories leaves it at the file.
func (l latch) try() (bool, error) {
	locked, err := l.lock.TryLock()
	if !locked || err != nil {
		return false, err
	}
	if locked, err := l.dir.TryLock(); !locked && err == nil {
		l.lock.Unlock()
		return false, nil
	}
	return true, nil
}

// wait locks both, however long that takes.
func (l latch) wait() error {
	err := l.lock.Lock()
	if err == nil {
		_ = l.dir.Lock()
	}
	return err
}

func (l latch) release() {
	l.dir.Unlock()
	l.lock.Unlock()
}

// held is the lock, held by this process.
type held struct {
	latch
	store *Store
}

// acquire takes the lock. Codes: T501, T503, the cause of ctx.
func (s *Store) acquire(ctx context.Context) (*held, error) {
	for {
		latch, err := s.await(ctx)
		if err != nil {
			return nil, err
		}
		current, err := s.isCurrent(latch.lock)
		if err != nil {
			latch.release()
			return nil, cannotWrite(lockPath, err)
		}
		if current {
			s.announce()
			return &held{latch: latch, store: s}, nil
		}
		latch.release()
	}
}

// isCurrent reports whether the file that was locked is still the one at its
// path: a lock on a file that somebody has removed keeps nobody out.
func (s *Store) isCurrent(lock *flock.Flock) (bool, error) {
	mine, err := lock.Stat()
	if err != nil {
		return false, err
	}
	if !mine.Mode().IsRegular() {
		return false, errIrregular
	}
	there, err := s.disk.Lstat(lockPath)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, there), err
}

// await takes the lock by the schedule.
func (s *Store) await(ctx context.Context) (latch, error) {
	queue := &queue{latch: s.newLatch(), dir: s.path}
	err := retry.Do(ctx, s.options.Retry, queue.attempt, retry.Options{Wait: queue.wait, Notify: s.attempted})
	if err == nil {
		return queue.latch, nil
	}
	queue.abandon()
	if coded := errcodes.Of(err); coded.Code == errcodes.LockFailed {
		return latch{}, coded.Having("path", lockPath, "holder", s.holder(), "retryAfterMs", retry.Default.Max.Milliseconds())
	}
	return latch{}, err
}

// attempted passes on that an attempt has failed, with who holds the lock.
func (s *Store) attempted(attempt retry.Attempt) {
	if s.options.OnAttempt != nil {
		attempt.Err = errcodes.Of(attempt.Err).Having("path", lockPath, "holder", s.holder())
		s.options.OnAttempt(attempt)
	}
}

// queue is one caller's place in the kernel's queue for a lock.
type queue struct {
	latch  latch
	dir    string
	got    chan error // nil until the first attempt has failed
	result error
	done   bool
}

func (q *queue) attempt(context.Context) error {
	if q.got != nil {
		if q.done {
			return q.result
		}
		return errcodes.LockFailed.With()
	}
	locked, err := q.latch.try()
	if err != nil {
		return lockError(q.latch.lock.Path(), err)
	}
	if !locked {
		return errcodes.LockFailed.With()
	}
	return nil
}

// enter lets a goroutine wait in the kernel.
func (q *queue) enter() {
	q.got = make(chan error, 1)
	go func() {
		err := q.latch.wait()
		if err != nil {
			err = lockError(q.latch.lock.Path(), err)
		}
		q.got <- err
	}()
}

// lockError gives the error of a lock file that cannot be opened or locked.
func lockError(path string, err error) error {
	if info, failed := os.Lstat(path); failed == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	return cannotWrite(lockPath, err)
}

// abandon releases the lock if it still arrives.
func (q *queue) abandon() {
	if q.got == nil || q.done {
		return
	}
	go func() {
		if err := <-q.got; err == nil {
			q.latch.release()
		}
	}()
}

// announce writes who holds the lock, for those who wait. It is advice: no
// decision rests on it, and nothing is lost with it. It is written over the
// note of the holder before, in the same width, because others wait meanwhile
// and cutting a file to nothing costs more than all the rest of taking the lock.
func (s *Store) announce() {
	text := fmt.Appendf(nil, "pid %-10d\n", os.Getpid())
	_ = s.disk.change(Change{Call: "write", Path: holderPath, Data: text}, func(change *Change) error {
		file, err := openRegular(s.disk.Root, holderPath, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = file.Write(change.Data)
		return err
	})
}

// holder returns what the last holder of the lock wrote of itself.
func (s *Store) holder() string {
	file, err := openRegular(s.disk.Root, holderPath, os.O_RDONLY, 0)
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	text := make([]byte, 64)
	n, _ := file.Read(text)
	line, _, _ := strings.Cut(string(text[:n]), "\n")
	pid, found := strings.CutPrefix(strings.TrimSpace(line), "pid ")
	if _, err := strconv.Atoi(pid); err != nil || !found {
		return "unknown"
	}
	return "pid " + pid
}
