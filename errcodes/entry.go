package errcodes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Retry says when the same request can succeed later.
type Retry string

// The ways in which trying again can help. The zero Retry means that it
// never does.
const (
	Same         Retry = "same"          // the same command again
	AfterRefresh Retry = "after_refresh" // read anew, decide anew
	AfterFix     Retry = "after_fix"     // the caller changes something first
	AfterHuman   Retry = "after_human"   // a person does something first
)

// Field is one detail that a code promises.
type Field struct {
	Name string // its key in details or context
	Type string // string, integer, boolean, string[], object, object[]
	Doc  string // what it holds
	In   string // its name in the templates, where that differs from Name
	Join string // what stands between the elements of a list in a sentence, ", " where empty
}

// Entry is one row of the catalogue: all that is known of a code before it happens.
//
// Message, Hint and Next are templates: {name} stands for a detail. A part of
// a hint in [brackets] is left out where a detail it names is absent. A
// template of Next whose detail is a list gives one command an element; one
// whose detail is absent gives none. Beside the details, {operation} is the
// command that failed, of one word or two, and {command} its whole line,
// quoted already.
type Entry struct {
	Code        Code
	Title       string
	Message     string
	Hint        string
	Reason      string        // the reason code of a task's failure
	Retryable   bool          // whether the retry utility tries again by itself
	FromStatus  int           // where set, only for a detail status of at least this
	Retry       Retry         // when a caller may try again
	Delay       time.Duration // the shortest wait before it is tried again
	UserMessage string        // the sentence for a person, where it differs
	ShowDetails bool          // whether a person sees the details by default
	Details     []Field
	Next        []string
	Example     string // a command line that provokes it
}

// Entry returns the row of c; an undeclared code gives that of Unrecognized (T902).
func (c Code) Entry() *Entry {
	if entry := find(c); entry != nil {
		return entry
	}
	return find(Unrecognized)
}

// Known reports whether c is declared in the catalogue.
func (c Code) Known() bool { return find(c) != nil }

// Warning reports whether c names a warning.
func (c Code) Warning() bool { return strings.HasPrefix(string(c), "W") }

// ExitStatus returns the status that a process ends with after c: for Tmnn
// 10*m+n where nn is 01 to 09, else 10*m; 0 for a warning; that of
// Unrecognized (T902) for an undeclared code. Interrupted (T904) has that of
// SIGINT, 130; after SIGTERM a process ends with 143.
func (c Code) ExitStatus() int {
	c = c.Entry().Code
	if c.Warning() {
		return 0
	}
	if c == Interrupted {
		return 130
	}
	status := 10 * int(c[1]-'0')
	if c[2] == '0' {
		status += int(c[3] - '0')
	}
	return status
}

// Hint returns the sentence that says what to do after e.
func (e *Error) Hint() string { return e.Code.Entry().hint(e.Details) }

// Next returns the complete commands that repair e or look further into it,
// with every value quoted for a shell. Extra details, such as the command
// that failed, serve the templates beside those of e.
func (e *Error) Next(extra ...Attr) []string {
	entry := e.Code.Entry()
	have := append(slices.Clone(e.Details), extra...)
	var commands []string
	for _, template := range entry.Next {
		commands = append(commands, entry.expand(template, have)...)
	}
	return commands
}

// Retryable reports whether trying the same again by itself is worthwhile.
func (e *Error) Retryable() bool {
	entry := e.Code.Entry()
	if !entry.Retryable || entry.FromStatus == 0 {
		return entry.Retryable
	}
	status, known := integer(e.Detail("status"))
	return known && status >= int64(entry.FromStatus)
}

// Delay returns the shortest wait before e is tried again: its own detail
// retryAfterMs where it has one, else the catalogue's.
func (e *Error) Delay() time.Duration {
	if ms, known := integer(e.Detail("retryAfterMs")); known {
		return time.Duration(ms) * time.Millisecond
	}
	return e.Code.Entry().Delay
}

func integer(value any) (int64, bool) {
	switch v := value.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	}
	return 0, false
}

// UserMessage returns the sentence for a person, or "" where the catalogue has none.
func (e *Error) UserMessage() string {
	entry := e.Code.Entry()
	return entry.fill(entry.UserMessage, e.Details)
}

func (e *Entry) message(details []Attr) string { return e.fill(e.Message, details) }

// hint fills in the hint, dropping every [part] that names an absent detail.
func (e *Entry) hint(details []Attr) string {
	var out strings.Builder
	rest := e.Hint
	for rest != "" {
		before, after, found := strings.Cut(rest, "[")
		out.WriteString(e.fill(before, details))
		if !found {
			break
		}
		part, tail, _ := strings.Cut(after, "]")
		if e.complete(part, details) {
			out.WriteString(e.fill(part, details))
		}
		rest = tail
	}
	return out.String()
}

// HintTemplate returns the hint as a reader of the catalogue sees it.
func (e *Entry) HintTemplate() string {
	return strings.NewReplacer("[", "", "]", "").Replace(e.Hint)
}

// expand gives the commands of one Next template.
func (e *Entry) expand(template string, details []Attr) []string {
	if !e.complete(template, details) {
		return nil
	}
	for _, name := range placeholders(template) {
		list, ok := e.value(name, details).([]string)
		if !ok {
			continue
		}
		var commands []string
		for _, element := range list {
			one := append([]Attr{{Key: e.field(name).Name, Value: element}}, details...)
			commands = append(commands, e.expand(template, one)...)
		}
		return commands
	}
	return []string{substitute(template, func(name string) string {
		word := e.text(name, details)
		switch name {
		case "command": // a whole line, quoted already
			return word
		case "operation": // a command of one or two words
			return quoteWords(word)
		}
		return Quote(word)
	})}
}

func (e *Entry) fill(template string, details []Attr) string {
	return substitute(template, func(name string) string { return e.text(name, details) })
}

func (e *Entry) complete(template string, details []Attr) bool {
	for _, name := range placeholders(template) {
		if e.text(name, details) == "" {
			return false
		}
	}
	return true
}

// field returns the declared field that stands for a placeholder; one that is
// not declared stands for itself.
func (e *Entry) field(placeholder string) Field {
	for _, field := range e.Details {
		if field.In == placeholder {
			return field
		}
	}
	for _, field := range e.Details {
		if field.Name == placeholder {
			return field
		}
	}
	return Field{Name: placeholder}
}

func (e *Entry) value(placeholder string, details []Attr) any {
	return lookup(details, e.field(placeholder).Name)
}

// text renders a detail inside a sentence.
func (e *Entry) text(placeholder string, details []Attr) string {
	field := e.field(placeholder)
	switch v := lookup(details, field.Name).(type) {
	case nil:
		return ""
	case string:
		return v
	case []string:
		return strings.Join(v, cmp.Or(field.Join, ", "))
	default:
		return fmt.Sprint(v)
	}
}

func placeholders(template string) []string {
	var names []string
	substitute(template, func(name string) string { names = append(names, name); return "" })
	return names
}

// substitute replaces every {name} of template by value(name).
func substitute(template string, value func(name string) string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(template, "{")
		out.WriteString(before)
		name, tail, closed := strings.Cut(after, "}")
		if !found || !closed {
			return out.String()
		}
		out.WriteString(value(name))
		template = tail
	}
}

// Quote returns word so that a POSIX shell reads it as one word.
func Quote(word string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func quoteWords(words string) string {
	var quoted []string
	for word := range strings.FieldsSeq(words) {
		quoted = append(quoted, Quote(word))
	}
	return strings.Join(quoted, " ")
}
