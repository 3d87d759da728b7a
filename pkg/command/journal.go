package command

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/logging"
	"github.com/leslie-sh/leslie/pkg/response"
	"github.com/leslie-sh/leslie/pkg/retry"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

// journal keeps the record of errors and warnings in the store, and shows
// them to a person where stderr is a terminal. The response shows the final
// ones itself, so the file's log has no terminal: each is seen once.
type journal struct {
	env   environment
	seen  slog.Handler // for a person, or with --debug; nil for nobody
	debug bool
	began time.Time
}

func newJournal(out response.Output, env environment, debug bool) *journal {
	j := &journal{env: env, debug: debug, began: time.Now()}
	level := slog.LevelWarn
	if debug {
		level = slog.LevelDebug
	}
	switch {
	case out.StderrTerminal && (debug || out.Format != response.JSON):
		j.seen = logging.Terminal(out.Stderr, out.Color, level)
	case debug:
		j.seen = logging.NewHandler(out.Stderr, logging.SecretsOf(env))
	}
	return j
}

// show writes what a person is to read of an error or a warning.
func (j *journal) show(level slog.Level, message string, attrs []slog.Attr) {
	record := slog.NewRecord(time.Now(), level, message, 0)
	record.AddAttrs(attrs...)
	_ = j.seen.Handle(context.Background(), record)
}

// record logs what went wrong with c, once, in the log of the store and in
// that of the thread. Without a store there is nowhere to log.
func (j *journal) record(c *call, ended outcome) {
	if ended.err != nil || len(c.warnings) > 0 {
		log, about := j.log(c), c.about(ended.err)
		for _, w := range c.warnings {
			log.Warning(about, w)
		}
		log.Error(about, withStack(ended))
	}
	if j.debug {
		j.tell(c, ended)
	}
}

// withStack adds where a panic came from: for the log only, not for the response.
func withStack(ended outcome) error {
	if ended.stack == nil {
		return ended.err
	}
	return errcodes.Of(ended.err).Having("stack", string(ended.stack))
}

// log returns the log of the store that c works on, also where c failed
// before it opened it.
func (j *journal) log(c *call) *logging.Log {
	root := c.root
	if root == "" {
		found, err := c.findRoot()
		if err != nil {
			return &logging.Log{}
		}
		root = found
	}
	return &logging.Log{Store: filepath.Join(root, storeName), Secrets: logging.SecretsOf(j.env)}
}

// about says whom the call concerns: the thread that the error names, or
// else the one that the command was about.
func (c *call) about(err error) logging.About {
	about := logging.About{Operation: c.operation(), ThreadID: c.threadID, ObjectiveID: c.objectiveID}
	if coded := errcodes.Of(err); coded != nil {
		if id, ok := coded.Detail("threadId").(string); ok && id != about.ThreadID {
			about.ThreadID, about.ObjectiveID = id, ""
		}
	}
	if about.ThreadID != "" && about.ObjectiveID == "" && c.store != nil {
		_, _ = c.store.View(context.Background(), func(v *storage.View) error {
			t, err := threads.Find(v, about.ThreadID)
			about.ObjectiveID = t.ObjectiveID
			return err
		})
	}
	return about
}

// attempted logs that the lock was not to be had, and that it is tried again.
func (j *journal) attempted(c *call, attempt retry.Attempt) {
	log := j.log(c)
	log.Terminal = j.seen
	failed := errcodes.Of(attempt.Err).Having("attempts", attempt.Number)
	log.Retry(logging.About{Operation: c.operation(), ThreadID: c.threadID}, failed, attempt.Number, attempt.Wait)
}

// tell says on stderr what was done.
func (j *journal) tell(c *call, ended outcome) {
	log := &logging.Log{Terminal: j.seen, Secrets: logging.SecretsOf(j.env)}
	about := logging.About{ThreadID: c.threadID}
	log.Debug(about, "command", slog.String("operation", c.operation()), slog.String("root", c.root),
		slog.Int("exitStatus", exitStatus(ended.err)), slog.Duration("duration", time.Since(j.began)))
	if ended.stack != nil {
		log.Debug(about, "panic", slog.String("stack", string(ended.stack)))
	}
}
