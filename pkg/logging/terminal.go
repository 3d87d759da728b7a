package logging

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lmittmann/tint"
)

// Terminal returns a handler that shows records from level up to a person:
// without a time, in colour where color says so. Control characters of a
// value are shown as signs and never reach the terminal.
func Terminal(w io.Writer, color bool, level slog.Level) slog.Handler {
	return visible{tint.NewTextHandler(w, &tint.Options{Level: level, NoColor: !color, ReplaceAttr: timeless})}
}

func timeless(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == timeKey && a.Value.Kind() == slog.KindTime {
		return slog.Attr{}
	}
	return a
}

// visible makes every text of a record harmless before tint gets it. Tint
// turns an escaped ESC of a value back into the character when it colours.
type visible struct{ slog.Handler }

// Handle passes r on with signs in place of control characters.
func (v visible) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, signs(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		for _, flat := range appendFlat(nil, "", a) {
			out.AddAttrs(slog.String(signs(flat.Key), signs(render(flat.Value))))
		}
		return true
	})
	return v.Handler.Handle(ctx, out)
}

// WithAttrs returns a handler whose records have attrs too.
func (v visible) WithAttrs(attrs []slog.Attr) slog.Handler {
	var safe []slog.Attr
	for _, a := range attrs {
		for _, flat := range appendFlat(nil, "", a) {
			safe = append(safe, slog.String(signs(flat.Key), signs(render(flat.Value))))
		}
	}
	return visible{v.Handler.WithAttrs(safe)}
}

// WithGroup returns a handler whose further keys begin with name and a dot.
func (v visible) WithGroup(name string) slog.Handler { return visible{v.Handler.WithGroup(name)} }

// signs replaces control characters by their pictures, and what else cannot
// be seen by a question mark.
func signs(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r < ' ':
			return r + '␀'
		case r == 0x7f:
			return '␡'
		case r == utf8.RuneError, !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, s)
	return strings.ReplaceAll(s, `\x1b`, `\␛`)
}
