// Package logging keeps the record of what went wrong: every error and every
// warning of every command as one line of logfmt, in logs/leslie.log of the
// store and in logs/<objective>/<thread>.log when it concerns a thread.
//
// A line always has the same order of keys: time, level, threadId, code, msg,
// then the details. It is appended by one write, so that lines stay whole
// with many processes, and no value can forge another line or key. The log
// serves the command and never the other way round: what cannot be written is
// dropped in silence.
package logging

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
)

// Log writes the log of one store. Its methods may be called at once by many
// goroutines. The zero Log writes nothing.
type Log struct {
	Store    string           // the .leslie directory; without one nothing is written to files
	Secrets  *Secrets         // what no line may repeat
	Now      func() time.Time // nil: the clock
	Terminal slog.Handler     // who else gets the records, nil for nobody
}

// About says whom a record concerns. Each may be empty.
type About struct {
	Operation   string // the command, such as "artifact put"
	ThreadID    string
	ObjectiveID string // of the thread; without it there is no file of the thread's own
}

// Error records err with its code (T901 where it has none), its details, and
// the cause beneath it.
func (l *Log) Error(about About, err error) {
	if err == nil {
		return
	}
	coded := errcodes.Of(err)
	extra := []slog.Attr(nil)
	if cause := beneath(coded); cause != "" {
		extra = append(extra, slog.String("cause", cause))
	}
	l.record(about, slog.LevelError, coded, extra...)
}

// Warning records w.
func (l *Log) Warning(about About, w errcodes.Warning) {
	l.record(about, slog.LevelWarn, &errcodes.Error{Code: w.Code, Details: w.Context})
}

// Retry records that an attempt failed with err and that another follows
// within delay: no failure of the command yet, and its line says so. The
// attempt is counted from 1.
func (l *Log) Retry(about About, err error, attempt int, delay time.Duration) {
	if err == nil {
		return
	}
	coded := errcodes.Of(err)
	l.write(about, slog.LevelWarn, "Attempt "+strconv.Itoa(attempt)+" failed, another follows: "+coded.Code.Entry().Title, coded,
		slog.Int("attempt", attempt), slog.Duration("delay", delay))
}

// Debug records what is done, for whoever asked to see it: on the terminal
// alone, never in a file.
func (l *Log) Debug(about About, message string, attrs ...slog.Attr) {
	r := slog.NewRecord(l.now(), slog.LevelDebug, message, 0)
	if about.ThreadID != "" {
		r.AddAttrs(slog.String(threadKey, about.ThreadID))
	}
	r.AddAttrs(attrs...)
	l.show(r)
}

func (l *Log) record(about About, level slog.Level, coded *errcodes.Error, extra ...slog.Attr) {
	l.write(about, level, coded.Error(), coded, extra...)
}

func (l *Log) write(about About, level slog.Level, message string, coded *errcodes.Error, extra ...slog.Attr) {
	r := slog.NewRecord(l.now(), level, message, 0)
	thread, _ := coded.Detail(threadKey).(string)
	if thread == "" {
		thread = about.ThreadID
	}
	if thread != "" {
		r.AddAttrs(slog.String(threadKey, thread))
	}
	r.AddAttrs(slog.String(codeKey, string(coded.Code)))
	r.AddAttrs(details(coded, thread)...)
	if about.Operation != "" && coded.Detail(operationKey) == nil {
		r.AddAttrs(slog.String(operationKey, about.Operation))
	}
	r.AddAttrs(extra...)
	l.show(r)
	l.append(about, r)
}

// details lists what the error carries beside the thread. The time that was
// waited is called duration in a log.
func details(coded *errcodes.Error, thread string) []slog.Attr {
	var attrs []slog.Attr
	for _, detail := range coded.Details {
		switch {
		case detail.Key == threadKey && detail.Value == thread:
			continue
		case detail.Key == "waited" && coded.Detail("duration") == nil:
			detail.Key = "duration"
		}
		attrs = append(attrs, slog.Any(detail.Key, detail.Value))
	}
	return attrs
}

// beneath returns what the causes of coded say beyond its own sentence.
func beneath(coded *errcodes.Error) string {
	for cause := coded.Cause; cause != nil; cause = errors.Unwrap(cause) {
		var same *errcodes.Error
		if errors.As(cause, &same) && same.Code == coded.Code {
			continue
		}
		if text := cause.Error(); text != coded.Error() && text != coded.Detail("problem") {
			return text
		}
		return ""
	}
	return ""
}

func (l *Log) show(r slog.Record) {
	if l.Terminal == nil || !l.Terminal.Enabled(context.Background(), r.Level) {
		return
	}
	_ = l.Terminal.Handle(context.Background(), l.Secrets.clean(r))
}

func (l *Log) append(about About, r slog.Record) {
	if l.Store == "" {
		return
	}
	for _, name := range names(about) {
		f, err := openAppend(l.Store, name)
		if err != nil {
			continue
		}
		_ = NewHandler(f, l.Secrets).Handle(context.Background(), r)
		f.Close()
	}
}

func (l *Log) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}
