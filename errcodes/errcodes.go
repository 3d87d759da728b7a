// Package errcodes is the one place where leslie's failures are named: the
// catalogue of codes, the errors and warnings that carry them, and the exit
// status each gives to a process.
//
// A room that finds a fact returns Code.With(...) where the fact is known.
// Callers wrap it with %w and never give it another code; they branch with
// errors.Is(err, errcodes.ThreadNotFound). Nothing here prints or logs.
package errcodes

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Code is a stable name for one kind of failure (Tmnn) or warning (Wmnn), as
// ERR-02 has it. It is an error itself, so that errors.Is finds it through
// any wrapping.
type Code string

// Error returns the code's own name.
func (c Code) Error() string { return string(c) }

// Attr is one named fact of an error or a warning. Values are strings,
// booleans, integers, slices of strings, or structs and maps that
// encoding/json can write.
type Attr struct {
	Key   string
	Value any
}

// Effect says what a failed command did before it failed.
type Effect string

// The effects that a response can state. The zero Effect means None.
const (
	None     Effect = "none"
	Partial  Effect = "partial"
	Complete Effect = "complete"
	Unknown  Effect = "unknown"
)

// Error is a failure with its code and the facts that the catalogue promises
// for that code.
type Error struct {
	Code    Code
	Details []Attr
	Effect  Effect
	Cause   error
}

// With returns the error of code c with details given as alternating keys and
// values, in the order in which they are to be shown.
func (c Code) With(pairs ...any) *Error {
	return &Error{Code: c, Details: attrs(pairs)}
}

// Because returns a copy of e that wraps cause, so that errors.Is and
// errors.As also see what lay beneath.
func (e *Error) Because(cause error) *Error {
	copied := *e
	copied.Cause = cause
	return &copied
}

// Having returns a copy of e with more details. A key that e already has
// takes the new value in its old place.
func (e *Error) Having(pairs ...any) *Error {
	copied := *e
	copied.Details = append([]Attr(nil), e.Details...)
	for _, attr := range attrs(pairs) {
		copied.set(attr)
	}
	return &copied
}

func (e *Error) set(attr Attr) {
	for i := range e.Details {
		if e.Details[i].Key == attr.Key {
			e.Details[i] = attr
			return
		}
	}
	e.Details = append(e.Details, attr)
}

// Detail returns the value that e carries under key, or nil.
func (e *Error) Detail(key string) any { return lookup(e.Details, key) }

// Error returns the sentence for a reader, without the code.
func (e *Error) Error() string { return e.Code.Entry().message(e.Details) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is the code of e.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// Of returns the coded error within err. An error without a code is a bug
// of ours: it comes back as Internal (T901) with the text of err. Of(nil) is nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	var coded *Error
	if errors.As(err, &coded) {
		return coded
	}
	var code Code
	if errors.As(err, &code) {
		return code.With().Because(err)
	}
	return Internal.With("problem", err.Error()).Because(err)
}

// Warning is a fact that did not stop the command (ERR-05). It travels beside
// results, also beside errors.
type Warning struct {
	Code    Code
	Context []Attr
}

// Warn returns the warning of code c with its context given as alternating
// keys and values.
func (c Code) Warn(pairs ...any) Warning { return Warning{Code: c, Context: attrs(pairs)} }

// Message returns the sentence for a reader.
func (w Warning) Message() string { return w.Code.Entry().message(w.Context) }

// Warnings is a list of warnings in the order in which they arose.
type Warnings []Warning

// Add appends w unless an equal warning is already there.
func (ws *Warnings) Add(more ...Warning) {
	for _, w := range more {
		if !ws.contains(w) {
			*ws = append(*ws, w)
		}
	}
}

func (ws *Warnings) contains(w Warning) bool {
	for _, have := range *ws {
		if have.Code == w.Code && have.Message() == w.Message() {
			return true
		}
	}
	return false
}

// longest is the number of bytes of a caller's value that an error repeats.
const longest = 120

// Clip shortens a value that came from outside, so that an error can repeat
// it without growing: at most 120 bytes, valid UTF-8, with an ellipsis where
// something was cut.
func Clip(value string) string {
	if len(value) <= longest {
		return value
	}
	cut := longest
	for cut > 0 && !utf8.RuneStart(value[cut]) {
		cut--
	}
	return value[:cut] + "…"
}

func attrs(pairs []any) []Attr {
	if len(pairs)%2 != 0 {
		panic(fmt.Sprintf("errcodes: odd number of keys and values: %v", pairs))
	}
	out := make([]Attr, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Attr{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return out
}

func lookup(list []Attr, key string) any {
	for _, attr := range list {
		if attr.Key == key {
			return attr.Value
		}
	}
	return nil
}
