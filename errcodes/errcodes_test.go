package errcodes_test

import (
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/leslie-sh/leslie/errcodes"
)

func TestExitStatus(t *testing.T) {
	for code, want := range map[errcodes.Code]int{
		"T101": 11, "T102": 12, "T109": 19, "T110": 10, "T201": 21, "T301": 31, "T402": 42, "T501": 51,
		"T601": 61, "T712": 70, "T845": 80, "T901": 91, "T903": 93, "T904": 130, "W202": 0, "nothing": 92,
	} {
		if got := code.ExitStatus(); got != want {
			t.Errorf("%s gives %d, want %d", code, got, want)
		}
	}
	for _, entry := range errcodes.Catalogue() {
		if status := entry.Code.ExitStatus(); !entry.Code.Warning() && ((status <= 0 || status > 125) && entry.Code != errcodes.Interrupted) {
			t.Errorf("%s gives %d", entry.Code, status)
		}
	}
}

func TestSentences(t *testing.T) {
	for _, test := range []struct {
		err           *errcodes.Error
		message, hint string
	}{
		{errcodes.ThreadNotFound.With("threadId", "thread-x"), "Thread 'thread-x' not found", "Check the id or spawn a thread"},
		{errcodes.ThreadNotFound.With("threadId", "a{id}", "nearest", "[a]"), "Thread 'a{id}' not found", "Check the id (nearest: [a]) or spawn a thread"},
		{errcodes.CircularReference.With("path", []string{"a", "b", "a"}), "Circular reference detected: a -> b -> a", "Remove one of the references in the cycle"},
		{errcodes.InvalidTransition.With("from", "archived", "to", "active", "current", "archived", "allowed", []string{}), "Invalid state transition from archived to active", "Thread is in archived state"},
		{errcodes.InvalidTransition.With("from", "failed", "to", "completed", "current", "failed", "allowed", []string{"resume", "archive"}), "Invalid state transition from failed to completed", "Thread is in failed state; allowed: resume, archive"},
		{errcodes.RevisionConflict.With("id", "thread-a", "actual", int64(3), "expected", 2), "'thread-a' is at revision 3, not 2", "Read it again and decide anew"},
		{errcodes.PermissionDenied.With("operation", "allow", "permission", "deploy"), "Permission denied for deploy", "Request approval first"},
	} {
		if test.err.Error() != test.message || test.err.Hint() != test.hint {
			t.Errorf("%s says %q (%q), want %q (%q)", test.err.Code, test.err.Error(), test.err.Hint(), test.message, test.hint)
		}
	}
}

func TestUserMessage(t *testing.T) {
	limited := errcodes.RateLimited.With("retryAfter", "30s", "seconds", 30)
	if got := limited.UserMessage(); got != "API rate limited. Retrying in 30s..." {
		t.Errorf("got %q", got)
	}
	if got := errcodes.ThreadNotFound.With("threadId", "x").UserMessage(); got != "" {
		t.Errorf("got %q, want none", got)
	}
}

func TestNext(t *testing.T) {
	command := errcodes.Attr{Key: "command", Value: "leslie spawn --intent 'it'\\''s $HOME'"}
	operation := errcodes.Attr{Key: "operation", Value: "artifact put"}
	for _, test := range []struct {
		err  *errcodes.Error
		want []string
	}{
		{errcodes.ThreadNotFound.With("threadId", "x"), []string{"leslie list --all"}},
		{errcodes.InvalidTransition.With("threadId", "thread-a", "allowed", []string{"resume", "archive"}),
			[]string{"leslie lifecycle thread-a --action resume", "leslie lifecycle thread-a --action archive"}},
		{errcodes.InvalidTransition.With("threadId", "thread-a", "allowed", []string{}), nil},
		{errcodes.CircularReference.With("path", []string{"a", "a"}, "references", []string{"ref-1", "$(x)"}),
			[]string{"leslie reference remove ref-1", "leslie reference remove '$(x)'"}},
		{errcodes.LockFailed.With(), []string{command.Value.(string)}},
		{errcodes.Usage.With("problem", "no"), []string{"leslie artifact put --help"}},
		{errcodes.PermissionDenied.With("threadId", "thread-a", "permission", "rm -rf"), []string{"leslie transfer request --thread thread-a --operation 'rm -rf'"}},
		{errcodes.TargetCorrupted.With("target", "thread-a"), []string{"leslie doctor --repair"}},
		{errcodes.WriteFailed.With("path", "x"), nil},
	} {
		if got := test.err.Next(command, operation); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s is followed by %q, want %q", test.err.Code, got, test.want)
		}
	}
	if got := errcodes.LockFailed.With().Next(); got != nil {
		t.Errorf("without a command line T501 is followed by %q", got)
	}
}

func TestOf(t *testing.T) {
	deep := errcodes.ThreadNotFound.With("threadId", "x").Because(errors.New("beneath"))
	wrapped := fmt.Errorf("spawning: %w", fmt.Errorf("parent: %w", deep))
	if got := errcodes.Of(wrapped); got != deep {
		t.Errorf("got %v", got)
	}
	if !errors.Is(wrapped, errcodes.ThreadNotFound) || errors.Is(wrapped, errcodes.LockFailed) {
		t.Error("errors.Is does not see the code through wrapping")
	}
	if got := errcodes.Of(fmt.Errorf("x: %w", errcodes.NoStore)); got.Code != errcodes.NoStore {
		t.Errorf("a bare code came back as %s", got.Code)
	}
	plain := errors.New("disk on fire")
	got := errcodes.Of(plain)
	if got.Code != errcodes.Internal || got.Error() != "Internal error: disk on fire" || !errors.Is(got, plain) {
		t.Errorf("an error without a code came back as %s %q", got.Code, got.Error())
	}
	if errcodes.Of(nil) != nil {
		t.Error("Of(nil) is an error")
	}
}

func TestHavingLeavesTheOriginal(t *testing.T) {
	first := errcodes.LockFailed.With("path", "a", "attempts", 1)
	second := first.Having("path", "b", "waited", "1s")
	want := []errcodes.Attr{{Key: "path", Value: "b"}, {Key: "attempts", Value: 1}, {Key: "waited", Value: "1s"}}
	if !reflect.DeepEqual(second.Details, want) || first.Detail("path") != "a" || first.Detail("waited") != nil {
		t.Errorf("first %v, second %v", first.Details, second.Details)
	}
}

func TestRetryableAndDelay(t *testing.T) {
	for _, test := range []struct {
		err       *errcodes.Error
		retryable bool
		delay     time.Duration
	}{
		{errcodes.ProviderError.With("status", 503), true, 5 * time.Second},
		{errcodes.ProviderError.With("status", 499), false, 5 * time.Second},
		{errcodes.ProviderError.With(), false, 5 * time.Second},
		{errcodes.RateLimited.With(), true, time.Minute},
		{errcodes.RateLimited.With("retryAfterMs", int64(1500)), true, 1500 * time.Millisecond},
		{errcodes.LockFailed.With(), true, 0},
		{errcodes.StoreCorrupted.With(), false, 0},
	} {
		if test.err.Retryable() != test.retryable || test.err.Delay() != test.delay {
			t.Errorf("%s %v: retryable %v after %v", test.err.Code, test.err.Details, test.err.Retryable(), test.err.Delay())
		}
	}
}

func TestQuoteIsOneWordOfAShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := strings.ReplaceAll(rapid.OneOf(rapid.String(), rapid.StringMatching(`[-a-z'"$\x60\\ !*~#&|;<>(){}\n]{0,12}`)).Draw(t, "word"), "\x00", "")
		out, err := exec.Command("sh", "-c", "printf %s "+errcodes.Quote(word)).Output()
		if err != nil || string(out) != word {
			t.Fatalf("the shell read %q as %q (%v)", errcodes.Quote(word), out, err)
		}
	})
}

func TestClip(t *testing.T) {
	for _, value := range []string{"", "short", strings.Repeat("x", 120), strings.Repeat("é", 100), strings.Repeat("x", 119) + "日本"} {
		got := errcodes.Clip(value)
		if len(value) <= 120 && got != value {
			t.Errorf("%q was cut", value)
		}
		if len(got) > 123 || strings.ToValidUTF8(got, "") != got || !strings.HasPrefix(value, strings.TrimSuffix(got, "…")) {
			t.Errorf("%q became %q", value, got)
		}
	}
}

func TestEqualWarningsAreAddedOnce(t *testing.T) {
	var ws errcodes.Warnings
	ws.Add(errcodes.TargetUnresolved.Warn("target", "a"), errcodes.TargetUnresolved.Warn("target", "b"))
	ws.Add(errcodes.TargetUnresolved.Warn("target", "a"))
	if len(ws) != 2 || ws[0].Message() != "Reference target 'a' could not be resolved" {
		t.Errorf("got %v", ws)
	}
}
