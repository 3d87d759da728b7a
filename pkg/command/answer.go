package command

import (
	"errors"
	"io"
	"syscall"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/response"
)

// answer is the one place where a command's outcome leaves: the log, the
// response, the exit status.
type answer struct {
	out     response.Output
	journal *journal
}

// answer prepares how this line is answered. It also serves a line that is
// wrong: the last valid format on it counts, else the environment's.
func (p *process) answer(l line, c *call) *answer {
	format := l.format()
	if format == "" {
		format = p.env.value("LESLIE_FORMAT")
	}
	if format != formatJSON {
		format = formatLogfmt
	}
	get, _ := l.last("get")
	a := &answer{out: response.Output{
		Format: response.Format(format), Get: get, Stdout: p.stdout, Stderr: p.stderr,
		StdoutTerminal: isTerminal(p.stdout), StderrTerminal: isTerminal(p.stderr),
		Color: !c.noColor && p.env.value("TERM") != "dumb",
	}}
	a.journal = newJournal(a.out, p.env, c.debug)
	if a.journal.seen != nil {
		a.out.Diagnose = a.journal.show
	}
	return a
}

// event writes one line of a stream.
func (a *answer) event(event any) error { return response.Event(a.out, event) }

// give logs and writes what came of c, and returns the exit status.
func (a *answer) give(c *call, ended outcome) int {
	a.journal.record(c, ended)
	a.out.Notice = func(w errcodes.Warning) { a.journal.log(c).Warning(c.about(nil), w) }
	err := response.Write(a.out, response.Response{
		Data: ended.data, Text: c.textKey(), Plain: plain(ended.data), Warnings: c.warnings, Err: ended.err,
		Operation: c.operation(), Command: c.repeatable(), Suffix: c.rootSuffix(), Before: c.before,
		Unbounded: c.full || c.cmd != nil && c.cmd.unbounded,
	})
	if err == nil {
		return exitStatus(ended.err)
	}
	a.undelivered(c, err, ended)
	return exitStatus(err)
}

// undelivered tells on stderr that stdout did not take the answer. One who
// closed the pipe did not want to know.
func (a *answer) undelivered(c *call, err error, ended outcome) {
	failed := *errcodes.Of(err)
	if ended.err == nil && c.cmd.writes {
		failed.Effect = errcodes.Complete
	}
	a.journal.log(c).Error(c.about(err), &failed)
	if errors.Is(err, syscall.EPIPE) || !errors.Is(err, errcodes.WriteFailed) {
		return
	}
	out := a.out
	out.Format, out.Get, out.Stdout = response.Logfmt, "", io.Discard
	_ = response.Write(out, response.Response{Err: &failed, Operation: c.operation()})
}

// textKey returns the key of the data that is plain text.
func (c *call) textKey() string {
	if c.cmd == nil {
		return ""
	}
	return c.cmd.text
}

// plain returns the text that data has for logfmt alone, "" for none.
func plain(data any) string {
	if texts, ok := data.(interface{ plain() string }); ok {
		return texts.plain()
	}
	return ""
}

// repeatable returns the whole line where it can be run again as it stands:
// not when what it read is gone.
func (c *call) repeatable() string {
	if c.drained {
		return ""
	}
	return c.line
}

// operation returns the command's words, or the word that names none.
func (c *call) operation() string {
	if c.cmd == nil {
		return c.unknown
	}
	return c.cmd.name
}
