// Package retry is leslie's one way of trying again (ERR-04).
//
// An operation is attempted a bounded number of times. Between two attempts
// it waits: 100 ms at first, doubled each time, never more than 5 s, so that
// ten attempts wait 21.3 s in all. How a wait passes is the caller's affair: a
// wait function may come back early when it knows that trying again is
// worthwhile, as the lock of the store does.
package retry

import (
	"context"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
)

// Policy is a schedule of attempts. A zero field has its value in Default.
type Policy struct {
	Attempts   int           // how often the operation is tried, the first time included
	Initial    time.Duration // the wait before the second attempt
	Max        time.Duration // the longest wait
	Multiplier float64       // each wait relative to the one before
}

// Default is the schedule of ERR-04.
var Default = Policy{Attempts: 10, Initial: 100 * time.Millisecond, Max: 5 * time.Second, Multiplier: 2}

// Attempt tells about one attempt that failed and will be followed by another.
type Attempt struct {
	Number int           // from 1
	Wait   time.Duration // the longest wait until the next attempt
	Waited time.Duration // since the first attempt began
	Err    error         // why it failed
}

// Options are what a caller can change about Do; the zero Options follow the catalogue.
type Options struct {
	// Retryable says whether an error is worth another attempt; nil asks the catalogue.
	Retryable func(error) bool
	// Wait passes the time until the next attempt: at most limit, less where
	// it knows better. An error ends Do. Nil waits for the whole limit.
	Wait func(ctx context.Context, limit time.Duration) error
	// Notify hears of every attempt that will be followed by another.
	Notify func(Attempt)
}

// Do calls operation until it succeeds, fails with an error that is not
// worth another attempt, or the policy's attempts are used up. An error that
// ends more than one attempt carries details attempts (how many) and waited
// (a duration such as 21.3s). When ctx ends, Do returns at once with an error
// in which errors.Is finds both the cause of ctx and the last failure.
func Do(ctx context.Context, policy Policy, operation func(context.Context) error, options Options) error {
	policy, options = policy.orDefault(), options.orDefault()
	start, wait := time.Now(), policy.Initial
	for number := 1; ; number++ {
		err := operation(ctx)
		if err == nil {
			return nil
		}
		waited := time.Since(start)
		if !options.Retryable(err) {
			return spent(err, number, waited, number > 1)
		}
		if number >= policy.Attempts {
			return spent(err, number, waited, true)
		}
		options.Notify(Attempt{Number: number, Wait: wait, Waited: waited, Err: err})
		if stopped := options.Wait(ctx, wait); stopped != nil {
			return &abandoned{cause: stopped, last: spent(err, number, time.Since(start), true)}
		}
		wait = policy.after(wait)
	}
}

// Waits lists the waits between the attempts of p, one fewer than there are attempts.
func (p Policy) Waits() []time.Duration {
	p = p.orDefault()
	var waits []time.Duration
	for wait := p.Initial; len(waits) < p.Attempts-1; wait = p.after(wait) {
		waits = append(waits, wait)
	}
	return waits
}

func (p Policy) after(wait time.Duration) time.Duration {
	return min(time.Duration(float64(wait)*p.Multiplier), p.Max)
}

func (p Policy) orDefault() Policy {
	if p.Attempts <= 0 {
		p.Attempts = Default.Attempts
	}
	if p.Initial <= 0 {
		p.Initial = Default.Initial
	}
	if p.Max <= 0 {
		p.Max = Default.Max
	}
	if p.Multiplier <= 0 {
		p.Multiplier = Default.Multiplier
	}
	return p
}

func (o Options) orDefault() Options {
	if o.Retryable == nil {
		o.Retryable = func(err error) bool { return errcodes.Of(err).Retryable() }
	}
	if o.Wait == nil {
		o.Wait = Sleep
	}
	if o.Notify == nil {
		o.Notify = func(Attempt) {}
	}
	return o
}

// Sleep waits for limit, or until ctx ends, whose cause it then returns.
func Sleep(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// spent adds to err what it took, when more than one attempt was made.
func spent(err error, attempts int, waited time.Duration, tell bool) error {
	if !tell {
		return err
	}
	rounded := waited.Round(time.Millisecond).String()
	return errcodes.Of(err).Having("attempts", attempts, "waited", rounded).Because(err)
}

// abandoned is the end of a retry whose context ended: the cause first, so
// that it gives the code, and the last failure beside it.
type abandoned struct{ cause, last error }

func (a *abandoned) Error() string   { return a.cause.Error() + ": " + a.last.Error() }
func (a *abandoned) Unwrap() []error { return []error{a.cause, a.last} }
