package response_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/response"
)

// told returns what a person at a terminal is told of r, as text.
func told(r response.Response) string {
	var shown bytes.Buffer
	plain := slog.NewTextHandler(&shown, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	log := slog.New(plain)
	_ = response.Write(response.Output{
		Format: response.Logfmt, Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, StderrTerminal: true,
		Diagnose: func(level slog.Level, message string, attrs []slog.Attr) {
			log.LogAttrs(context.Background(), level, message, attrs...)
		},
	}, r)
	return shown.String()
}

func TestTerminalTellsAll(t *testing.T) {
	for want, r := range map[string]response.Response{
		"level=WARN msg=\"Reference target 'b' could not be resolved\" code=W202 target=b reason=gone refId=ref-1\n": {
			Warnings: errcodes.Warnings{errcodes.TargetUnresolved.Warn("target", "b", "reason", "gone", "refId", "ref-1")},
		},
		"level=ERROR msg=\"No .leslie directory here or above\" code=T504 hint=\"Make it first\"\n": {
			Err: errcodes.NoStore.With("path", "/x", "hint", "Make it first", "next", []string{}),
		},
	} {
		if got := told(r); got != want {
			t.Errorf("told is %s, want %s", got, want)
		}
	}
}

// What an occurrence says of hint and next counts instead of the catalogue.
func TestParticularHintAndNext(t *testing.T) {
	for want, err := range map[string]error{
		`"hint":"Run leslie init","retryable":false,"retry":"after_fix","effect":"none","operation":"list","next":["leslie init --root /x"]}`: errcodes.NoStore.With(),
		`"hint":"Make it","retryable":false,"retry":"after_fix","effect":"none","operation":"list"}`:                                          errcodes.NoStore.With("next", []string{}, "hint", "Make it"),
		`"retryable":false,"retry":"after_fix","effect":"none","operation":"list","next":["leslie a --root /x","ls"]}`:                        errcodes.NoStore.With("next", []string{"leslie a", "ls"}),
	} {
		got := line(response.Response{Err: err, Operation: "list", Suffix: " --root /x"})
		if !bytes.Contains([]byte(got), []byte(want)) {
			t.Errorf("%s has no %s", got, want)
		}
	}
}
