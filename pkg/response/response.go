// Package response is how a command answers: the envelope of every response
// and its renderings.
//
// The policy of output is this. A command answers once. As JSON the answer is
// one line on stdout and stderr stays empty, because agents merge the streams.
// As logfmt results go to stdout and warnings and errors to stderr, each one
// line, so that a pipe of ids stays clean. A value that was asked for with
// --get goes to stdout raw, with warnings and errors on stderr likewise. Only
// colour and the padding of columns depend on a terminal. Whatever goes to
// stdout goes there in one call of Write, so that a reader who closes the
// pipe early sees a part of one answer and never an interleaving of two.
package response

import (
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/leslie-sh/leslie/errcodes"
)

// Format names a rendering.
type Format string

// The renderings.
const (
	JSON   Format = "json"
	Logfmt Format = "logfmt"
)

// Response is the one answer of a command.
type Response struct {
	// Data is a struct or a map that encodes to a JSON object; nil is {} on
	// success and no partial result on failure. Nothing in it comes out as
	// null: nil slices and maps are empty ones, nil pointers are left out.
	Data any
	// Text names the key of Data whose string is all that logfmt prints, ""
	// for commands whose answer is not a text.
	Text string
	// Plain, where it is not "", is the text that logfmt prints instead.
	Plain string
	// Warnings are shown in the order in which they arose.
	Warnings errcodes.Warnings
	// Err is nil for success. An error without a code shows as T901.
	Err error
	// Operation is the command: "artifact put".
	Operation string
	// Command is the whole line, quoted for a shell. Commands that repair an
	// error may repeat it.
	Command string
	// Suffix is appended to the commands that repair an error, so that they
	// meet the same store: " --root /x", quoted for a shell.
	Suffix string
	// Before, where it is set, makes Data one page of a list, newest last: it
	// returns the command that shows the page before the element called id.
	Before func(id string) string
	// Unbounded exempts the answer from the bound of 20 KB.
	Unbounded bool
}

// Output says where and how a response is written.
type Output struct {
	Format         Format
	Get            string // a gjson path whose value is printed instead, "" for none
	Stdout, Stderr io.Writer

	Color, StdoutTerminal, StderrTerminal bool

	// Diagnose, where it is set, shows warnings and errors when stderr is a
	// terminal and Format is not JSON. It gets the sentence for a person and
	// what they need beside it.
	Diagnose func(level slog.Level, message string, attrs []slog.Attr)

	// Notice, where it is set, hears of a warning that arises only while the
	// answer is written, so that it can be logged like the others.
	Notice func(errcodes.Warning)
}

// answer is a response with its parts encoded.
type answer struct {
	Response
	data    []byte          // an object, or nil where there is none
	failure *errcodes.Error // nil on success
}

// Write writes r to out as out asks. It returns WriteFailed (T503) with path
// "stdout" when stdout does not take all of it, and Internal (T901) when r
// holds what JSON cannot say; in the latter case that is what it wrote, too.
func Write(out Output, r Response) error {
	a, problem := r.encode()
	var text []byte
	switch {
	case out.Get != "":
		text = a.picked(out)
	case out.Format == JSON:
		text = a.json()
	default:
		text = a.logfmt(out)
	}
	failed := send(out.Stdout, text)
	if out.Get != "" || out.Format != JSON {
		a.diagnose(out)
	}
	if problem != nil {
		return problem
	}
	return failed
}

// Event writes v to stdout as one line of a stream, encoded like the data of
// a response, in one call of Write. Its errors are those of Write.
func Event(out Output, v any) error {
	line, err := marshal(v)
	if err != nil {
		return errcodes.Internal.With("problem", err.Error()).Because(err)
	}
	return send(out.Stdout, append(line, '\n'))
}

// encode encodes the data of r. Data that cannot be encoded is a bug, and
// what the command did can then no longer be told.
func (r Response) encode() (*answer, error) {
	a := &answer{Response: r, failure: errcodes.Of(r.Err)}
	data, err := object(r.Data)
	if err != nil {
		a.failure = errcodes.Internal.With("problem", "the answer cannot be encoded: "+err.Error()).Because(errors.Join(err, r.Err))
		a.failure.Effect = errcodes.Unknown
		return a, a.failure
	}
	a.data = data
	return a, nil
}

// object encodes data as an object, nil as nothing.
func object(data any) ([]byte, error) {
	encoded, err := marshal(data)
	switch {
	case err != nil || string(encoded) == "null":
		return nil, err
	case encoded[0] != '{':
		return nil, errors.New("data is not an object")
	default:
		return encoded, nil
	}
}

// send writes text to stdout.
func send(stdout io.Writer, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	n, err := stdout.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err == nil {
		return nil
	}
	reason := err
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		reason = pathError.Err
	}
	return errcodes.WriteFailed.With("path", "stdout", "reason", reason.Error()).Because(err)
}
