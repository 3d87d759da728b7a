package response

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
)

// mostCommands is how many commands that repair an error are named.
const mostCommands = 20

// longestPointer is how many bytes the command that shows all may have.
const longestPointer = 1 << 10

// JSON returns the response as the one line that Write writes for JSON, its
// newline included: at most 20 KB unless r is unbounded. success is the first
// key. A partial result stands behind the error, because a reader who cuts
// the line short needs the code most.
func (r Response) JSON() []byte {
	a, _ := r.encode()
	return a.json()
}

func (a *answer) json() []byte {
	line := a.envelope()
	if !a.Unbounded && len(line)+1 > bound {
		line = reduce(line, a.fuller(), a.Before)
	}
	return append(line, '\n')
}

// fuller returns the command that shows what the bound leaves out, "" where
// to run it again would do something again, or where it is long itself.
func (a *answer) fuller() string {
	did := gjson.GetBytes(a.data, "operationId").Exists()
	changed := a.failure != nil && a.failure.Effect != "" && a.failure.Effect != errcodes.None
	if a.Command == "" || did || changed {
		return ""
	}
	full := withFlags(a.Command, " --full")
	if len(appendString(nil, full)) > longestPointer {
		return ""
	}
	return full
}

// envelope returns the whole response as JSON, without a bound.
func (a *answer) envelope() []byte {
	e := encoder{out: make([]byte, 0, len(a.data)+1024)}
	switch {
	case a.failure != nil:
		e.out = append(e.out, `{"success":false,"error":`...)
		e.failure(a)
		if a.data != nil {
			e.out = append(append(e.out, `,"data":`...), a.data...)
		}
	case a.data != nil:
		e.out = append(append(e.out, `{"success":true,"data":`...), a.data...)
	default:
		e.out = append(e.out, `{"success":true,"data":{}`...)
	}
	e.out = append(e.out, `,"warnings":[`...)
	for i, w := range a.Warnings {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.warning(w)
	}
	e.out = append(e.out, "]}"...)
	return e.out
}

func (e *encoder) failure(a *answer) {
	e.out = appendString(append(e.out, `{"code":`...), string(a.failure.Code))
	e.out = appendString(append(e.out, `,"message":`...), a.failure.Error())
	e.out = append(append(append(e.out, `,"details":`...), a.details()...), '}')
}

func (e *encoder) warning(w errcodes.Warning) {
	e.out = appendString(append(e.out, `{"code":`...), string(w.Code))
	e.out = appendString(append(e.out, `,"message":`...), w.Message())
	e.out = append(append(append(e.out, `,"context":`...), factsOf(w.Context)...), '}')
}

// factsOf encodes facts as an object. A fact that JSON cannot say must not
// cost the caller the answer: it is left out.
func factsOf(facts []errcodes.Attr) []byte {
	var e encoder
	if e.facts(facts) == nil {
		return e.out
	}
	sayable := slices.DeleteFunc(slices.Clone(facts), func(f errcodes.Attr) bool {
		_, err := marshal(f.Value)
		return err != nil
	})
	e = encoder{}
	_ = e.facts(sayable)
	return e.out
}

// details encodes error.details: the facts of the code in their order, then
// what every error says.
func (a *answer) details() []byte {
	f := a.failure
	usual := a.usual()
	facts := slices.DeleteFunc(slices.Clone(f.Details), func(fact errcodes.Attr) bool {
		return slices.ContainsFunc(usual, func(u errcodes.Attr) bool { return u.Key == fact.Key })
	})
	return factsOf(append(facts, usual...))
}

// usual lists what every error says beside the facts of its code. The
// catalogue speaks of a code in general; a detail of the same name speaks of
// this occurrence and counts instead, except that operation always names the
// command. A nil value is left out.
func (a *answer) usual() []errcodes.Attr {
	f, entry := a.failure, a.failure.Code.Entry()
	or := func(key string, general any) errcodes.Attr {
		if particular := f.Detail(key); particular != nil {
			return errcodes.Attr{Key: key, Value: particular}
		}
		return errcodes.Attr{Key: key, Value: general}
	}
	effect := f.Effect
	if effect == "" {
		effect = errcodes.None
	}
	usual := []errcodes.Attr{
		{Key: "hint", Value: a.hint()},
		or("retryable", entry.Retryable),
		or("retry", set(entry.Retry)),
		or("retryAfterMs", set(entry.Delay.Milliseconds())),
		{Key: "effect", Value: effect},
		{Key: "operation", Value: a.Operation},
		or("userMessage", set(f.UserMessage())),
		{Key: "next"},
	}
	if next := a.next(); len(next) > 0 {
		usual[len(usual)-1].Value = next
	}
	return usual
}

// set returns value, or nil where it says nothing.
func set[T comparable](value T) any {
	var nothing T
	if value == nothing {
		return nil
	}
	return value
}

// hint says what to do after the failure.
func (a *answer) hint() string {
	if particular, ok := a.failure.Detail("hint").(string); ok {
		return particular
	}
	return a.failure.Hint()
}

// next lists the commands that repair the failure, at most mostCommands:
// those of this occurrence, also when it says that there are none, else those
// of the catalogue.
func (a *answer) next() []string {
	commands, particular := a.failure.Detail("next").([]string)
	if !particular {
		commands = a.failure.Next(
			errcodes.Attr{Key: "operation", Value: a.Operation},
			errcodes.Attr{Key: "command", Value: a.Command})
	}
	commands = slices.Clone(commands[:min(len(commands), mostCommands)])
	for i, command := range commands {
		if strings.HasPrefix(command, "leslie ") && !strings.Contains(command, a.Suffix) {
			commands[i] = withFlags(command, a.Suffix)
		}
	}
	return commands
}

// withFlags appends flags to a command, before a bare "--" if it has one:
// behind that they would be arguments.
func withFlags(command, flags string) string {
	quoted := false
	for i := range len(command) {
		switch {
		case command[i] == '\'':
			quoted = !quoted
		case !quoted && (strings.HasPrefix(command[i:], " -- ") || command[i:] == " --"):
			return command[:i] + flags + command[i:]
		}
	}
	return command + flags
}
