package storage

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/leslie-sh/leslie/pkg/retry"
)

// wait passes the time to the schedule's next mark, and ends early with the
// lock. Where the kernel's queue does not serve it waits at random between
// half of the time and all of it, so that many who try do not try together.
func (q *queue) wait(ctx context.Context, limit time.Duration) error {
	if q.got == nil && remoteFileSystem(q.dir) {
		return retry.Sleep(ctx, limit/2+rand.N(limit/2+1))
	}
	if q.got == nil {
		q.enter()
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case q.result = <-q.got:
		q.done = true
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
