// Package command is leslie's command line: it takes the line apart, checks
// it, calls the rooms, and answers once, whatever happens.
//
// One command, end to end: argv, normalised (argv.go) -> the command and its
// flags (parse.go, validate.go) -> a handler, one file a command, that opens
// one transaction (call.go) -> data and warnings, or a coded error -> the
// response and the exit status (answer.go). A handler returns data and holds
// no writer, so it cannot print. The table of commands (table.go) is the one
// description from which parser, help, completion and schema come.
//
// Only this package reads arguments and environment.
package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/retry"
	"github.com/leslie-sh/leslie/storage"
)

// process is what a command line runs in.
type process struct {
	args           []string // without the name of the program
	stdin          io.Reader
	stdout, stderr io.Writer
	env            environment
	commands       commands
	signals        <-chan os.Signal
	listen         func()          // makes signals arrive from now on; nil where they do anyway
	storage        storage.Options // what stores are opened with beside the settings of the line
}

// listenAfter is when a process begins to answer signals, unless it waits for
// something before. The thread that listens costs more than a short command
// takes; a signal before ends the process as it would any other, which the
// store survives at any moment.
const listenAfter = 2 * time.Millisecond

// Main runs the command line args (without the name of the program), answers
// once on stdout, or on stderr where the format has it there, and returns the
// exit status. SIGINT and SIGTERM end what waits, with T904 as the answer
// unless the command was done before; a second signal is answered at once.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	signals := make(chan os.Signal, 2)
	listen := sync.OnceFunc(func() { signal.Notify(signals, os.Interrupt, syscall.SIGTERM) })
	defer time.AfterFunc(listenAfter, listen).Stop()
	// A reader of stdout that is gone is an error of ours like any other.
	signal.Ignore(syscall.SIGPIPE)
	return (&process{
		args: args, stdin: stdin, stdout: stdout, stderr: stderr,
		env: environ, commands: table, signals: signals, listen: listen,
	}).run()
}

// outcome is how a call ended.
type outcome struct {
	data  any
	err   error
	stack []byte // of a panic

	abandoned bool // whether the handler still runs, so that its call may not be read
}

func (p *process) run() int {
	l := takeApart(p.args, p.commands.arity())
	in, problem := parse(p.commands, l)
	if problem == nil {
		problem = checkEnvironment(p.env, l, in.cmd)
	}
	globals := globalsOf(l, in.cmd, p.env)
	c := &call{
		input: in, globals: globals,
		commands: p.commands, env: p.env, stdin: p.stdin, options: p.storage, line: commandText(p.args),
	}
	a := p.answer(l, c)
	c.emit = a.event
	c.onAttempt = func(attempt retry.Attempt) {
		p.attend()
		a.journal.attempted(c, attempt)
	}
	if problem != nil {
		return a.give(c, outcome{err: problem})
	}
	ended := p.serve(c)
	if ended.abandoned {
		c = &call{input: in, globals: globals, commands: p.commands, env: p.env, line: c.line}
	}
	return a.give(c, ended)
}

// attend makes the process answer signals, because it is going to wait.
func (p *process) attend() {
	if p.listen != nil {
		p.listen()
	}
}

// serve runs the handler of c in a goroutine of its own, so that a signal is
// answered also where the handler hangs.
func (p *process) serve(c *call) outcome {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	c.ctx = ctx
	if c.cmd.waits {
		p.attend()
	}
	done := make(chan outcome, 1)
	go func() { done <- guarded(c) }()
	select {
	case ended := <-done:
		return ended
	case got := <-p.signals:
		cancel(interrupted(got))
	}
	select {
	case ended := <-done:
		return ended
	case got := <-p.signals:
		failed := interrupted(got)
		failed.Effect = errcodes.Unknown
		return outcome{err: failed, abandoned: true}
	}
}

// guarded runs the handler of c; a panic in it is T901.
func guarded(c *call) (ended outcome) {
	defer func() {
		if panicked := recover(); panicked != nil {
			failed := errcodes.Internal.With("problem", errcodes.Clip(visible(fmt.Sprint(panicked))))
			failed.Effect = errcodes.Unknown
			ended = outcome{err: failed, stack: debug.Stack()}
		}
	}()
	data, err := c.cmd.run(c)
	if err != nil {
		return outcome{err: err}
	}
	return outcome{data: data}
}

// signalNames are the signals that end a command, with the exit statuses
// that shells know them by.
var signalNames = map[string]int{"SIGINT": 130, "SIGTERM": 143}

func interrupted(by os.Signal) *errcodes.Error {
	name := "SIGINT"
	if by == syscall.SIGTERM {
		name = "SIGTERM"
	}
	return errcodes.Interrupted.With("signal", name)
}

// exitStatus returns the status that the process ends with after err.
func exitStatus(err error) int {
	coded := errcodes.Of(err)
	switch {
	case coded == nil:
		return 0
	case coded.Code == errcodes.Interrupted:
		name, _ := coded.Detail("signal").(string)
		return signalNames[name]
	default:
		return coded.Code.ExitStatus()
	}
}

// commandText is the whole line as a shell would read it again.
func commandText(args []string) string {
	words := []string{"leslie"}
	for _, arg := range args {
		words = append(words, errcodes.Quote(visible(arg)))
	}
	return strings.Join(words, " ")
}
