package logging

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The keys that lead a line, in this order.
const (
	timeKey      = slog.TimeKey
	levelKey     = slog.LevelKey
	threadKey    = "threadId"
	codeKey      = "code"
	messageKey   = slog.MessageKey
	operationKey = "operation"
)

// longest is the number of bytes that a line keeps of one value.
const longest = 4 << 10

// handler is a slog.Handler that puts a record's attributes into the order of
// a log and turns them into text; the quoting is that of slog.TextHandler.
type handler struct {
	secrets *Secrets
	next    slog.Handler
	attrs   []slog.Attr
	prefix  string
}

// NewHandler returns a handler that writes each record to w as one line, by
// one call of Write. Times are UTC to the second, levels in lower case,
// values that are neither text nor number compact JSON. Secrets are replaced;
// nil knows none.
func NewHandler(w io.Writer, secrets *Secrets) slog.Handler {
	text := slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: builtin})
	return &handler{secrets: secrets, next: text}
}

// builtin writes time and level as a log has them, and drops the message,
// which the handler passes as an attribute.
func builtin(groups []string, a slog.Attr) slog.Attr {
	switch {
	case a.Value.Kind() == slog.KindTime:
		return slog.String(a.Key, a.Value.Time().UTC().Format(time.RFC3339))
	case a.Key == levelKey && a.Value.Kind() == slog.KindAny:
		return slog.String(a.Key, strings.ToLower(a.Value.String()))
	case a.Key == messageKey && a.Value.Kind() == slog.KindString:
		return slog.Attr{}
	case a.Key == messageKey: // the handler's own, see text
		return slog.String(a.Key, a.Value.String())
	}
	return a
}

// text marks a message so that it passes by builtin.
type text string

func (t text) String() string { return string(t) }

// Enabled reports true: a log has every level.
func (h *handler) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes r as one line.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = appendFlat(attrs, h.prefix, a)
		return true
	})
	line := slog.NewRecord(r.Time, r.Level, "", 0)
	for _, key := range []string{threadKey, codeKey} {
		if i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == key }); i >= 0 {
			line.AddAttrs(h.plain(attrs[i]))
			attrs = slices.Delete(attrs, i, i+1)
		}
	}
	line.AddAttrs(slog.Any(messageKey, text(clip(h.secrets.Hide(r.Message)))))
	for _, a := range attrs {
		line.AddAttrs(distinct(h.plain(a)))
	}
	return h.next.Handle(ctx, line)
}

// plain turns an attribute into one with short text that keeps no secret.
func (h *handler) plain(a slog.Attr) slog.Attr {
	return slog.String(a.Key, clip(h.secrets.Hide(render(a.Value))))
}

// distinct renames a detail that would pass for one of the leading keys.
func distinct(a slog.Attr) slog.Attr {
	switch a.Key {
	case timeKey, levelKey, threadKey, codeKey, messageKey, "":
		a.Key = "detail." + a.Key
	}
	return a
}

// WithAttrs returns a handler whose lines have attrs too.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	copied := *h
	copied.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		copied.attrs = appendFlat(copied.attrs, h.prefix, a)
	}
	return &copied
}

// WithGroup returns a handler whose further keys begin with name and a dot.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	copied := *h
	copied.prefix += name + "."
	return &copied
}

// appendFlat appends a, a group as its members with dotted keys.
func appendFlat(attrs []slog.Attr, prefix string, a slog.Attr) []slog.Attr {
	a.Value = a.Value.Resolve()
	if a.Value.Kind() != slog.KindGroup {
		return append(attrs, slog.Attr{Key: prefix + a.Key, Value: a.Value})
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, member := range a.Value.Group() {
		attrs = appendFlat(attrs, prefix, member)
	}
	return attrs
}

// render returns a value as text: a list or an object as compact JSON.
func render(v slog.Value) string {
	switch v.Kind() {
	case slog.KindTime:
		return v.Time().UTC().Format(time.RFC3339)
	case slog.KindAny:
	default:
		return v.String()
	}
	switch value := v.Any().(type) {
	case error:
		return value.Error()
	case fmt.Stringer:
		return value.String()
	}
	encoded, err := json.Marshal(v.Any())
	if err != nil {
		return fmt.Sprint(v.Any())
	}
	return unquoted(encoded)
}

// unquoted returns the text of a JSON string, and any other JSON as it is.
func unquoted(encoded []byte) string {
	var s string
	if json.Unmarshal(encoded, &s) == nil && encoded[0] == '"' {
		return s
	}
	return string(encoded)
}

func clip(s string) string {
	if len(s) <= longest {
		return s
	}
	cut := longest
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
