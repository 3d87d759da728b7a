package logging_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/logging"
)

func FuzzNoValueForgesAnything(f *testing.F) {
	for _, seed := range []string{"", "plain", "two words", "a=b", "x\ntime=2026-02-09T16:00:01Z level=error msg=forged", `"quoted" \ back`,
		"\xff\xfe\x00", "\u2028\u0085\r", "日本 語", "\x1b[31m", "trailing ", `\"`, "true", "…"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, value, thread string) {
		if len(value) > 2000 || len(thread) > 2000 {
			t.Skip()
		}
		l := newLog(t)
		given := errcodes.Internal.With("problem", value, "other", value, "threadId", thread)
		l.Error(logging.About{Operation: value}, given)
		line, found := strings.CutSuffix(content(t, l, "leslie.log"), "\n")
		if !found || strings.Contains(line, "\n") || !utf8.ValidString(line) {
			t.Fatalf("no whole line: %q", line)
		}
		want := logging.Entry{Time: noon.UTC().Truncate(time.Second), Level: "error", ThreadID: thread, Code: "T901", Message: given.Error(),
			Fields: []logging.Field{{Key: "problem", Value: value}, {Key: "other", Value: value}}}
		if value != "" {
			want.Fields = append(want.Fields, logging.Field{Key: "operation", Value: value})
		}
		if got, ok := logging.Parse(line); !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("read back\n%#v\nwant\n%#v\nfrom %s", got, want, line)
		}
	})
}

func FuzzParseNeverPanics(f *testing.F) {
	f.Add(`time=2026-02-09T16:00:01Z level=error threadId=a code=T501 msg="x y" a=1`)
	f.Add(`time=2026-02-09T16:00:01Z level=warn msg="`)
	f.Fuzz(func(t *testing.T, line string) {
		if e, ok := logging.Parse(line); ok && e.Time.IsZero() && !strings.Contains(line, "0001") {
			t.Errorf("%q has no time", line)
		}
	})
}

func TestWhatIsNoEntry(t *testing.T) {
	for _, line := range []string{"", "x", "time=now level=error msg=x", "time=2026-02-09T16:00:01Z msg=x", "level=error msg=x",
		"time=2026-02-09T16:00:01Z level=error", `time=2026-02-09T16:00:01Z level=error msg="x`, `time=2026-02-09T16:00:01Z level=error msg="x"y`,
		"time=2026-02-09T16:00:01Z level=error msg=x  a=b", "time=2026-02-09T16:00:01Z level=error msg=x a", "time=2026-02-09T16:00:01Z level=error msg=x =b"} {
		if e, ok := logging.Parse(line); ok {
			t.Errorf("%q is read as %+v", line, e)
		}
	}
}

func write(t *testing.T, file string, from, to int) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := from; i <= to; i++ {
		fmt.Fprintf(f, "time=%s level=warn code=W202 msg=m%d pad=%s\n", noon.Add(time.Duration(i)*time.Second).UTC().Format(time.RFC3339), i, strings.Repeat("x", 300))
	}
}

func messages(entries []logging.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Message)
	}
	return strings.Join(all, " ")
}

func TestReadGivesTheNewestLast(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log")
	write(t, a, 1, 2)
	write(t, b, 3, 3)
	write(t, a, 4, 5)
	for limit, want := range map[int]string{0: "m1 m2 m3 m4 m5", 3: "m3 m4 m5", 1: "m5", 9: "m1 m2 m3 m4 m5"} {
		entries, err := logging.Read([]string{a, b, filepath.Join(dir, "missing")}, limit)
		if err != nil || messages(entries) != want {
			t.Errorf("limit %d: %s (%v), want %s", limit, messages(entries), err, want)
		}
	}
}

func TestReadOfALongLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.log")
	write(t, file, 1, 1000) // several blocks
	for _, limit := range []int{1, 2, 180, 500, 999, 1000, 1001, 0} {
		entries, err := logging.Read([]string{file}, limit)
		want := limit
		if limit == 0 || limit > 1000 {
			want = 1000
		}
		if err != nil || len(entries) != want || entries[want-1].Message != "m1000" || entries[0].Message != fmt.Sprint("m", 1001-want) {
			t.Errorf("limit %d: %d entries (%v)", limit, len(entries), err)
		}
	}
}

func TestReadRefusesWhatIsNoLog(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"fifo", "link", "."} {
		if _, err := logging.Read([]string{filepath.Join(dir, file)}, 1); !errors.Is(err, errcodes.ReadFailed) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// following runs Follow in a bubble of its own, in which its clock stands
// still until the test lets it tick.
type following struct {
	heard []logging.Entry
	stop  context.CancelCauseFunc
	ended error
}

func follow(t *testing.T, files func() []string, last int) *following {
	ctx, cancel := context.WithCancelCause(t.Context())
	f := &following{stop: cancel}
	go func() {
		f.ended = logging.Follow(ctx, files, last, func(e logging.Entry) error {
			f.heard = append(f.heard, e)
			return nil
		})
	}()
	synctest.Wait()
	return f
}

// tick lets one look pass.
func tick() {
	time.Sleep(200 * time.Millisecond)
	synctest.Wait()
}

func (f *following) expect(t *testing.T, want string) {
	t.Helper()
	if got := messages(f.heard); got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
	f.heard = nil
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a.log")
	files := func() []string { found, _ := filepath.Glob(filepath.Join(dir, "*.log")); return found }
	synctest.Test(t, func(t *testing.T) {
		write(t, a, 1, 5)
		f := follow(t, files, 2)
		f.expect(t, "m4 m5")
		write(t, a, 6, 7)
		tick()
		f.expect(t, "m6 m7")
		appendText(t, a, "time=2026-02-09T16:00:01Z level=warn msg=ha")
		tick()
		f.expect(t, "")
		appendText(t, a, "lf\nnot an entry\n")
		tick()
		f.expect(t, "half")

		write(t, a, 8, 8)
		rename(t, a, filepath.Join(dir, "a.1"))
		write(t, a, 9, 9)
		tick()
		f.expect(t, "m8 m9")

		if err := os.Truncate(a, 0); err != nil {
			t.Fatal(err)
		}
		tick()
		write(t, a, 10, 10)
		tick()
		f.expect(t, "m10")

		write(t, filepath.Join(dir, "b.log"), 11, 12)
		tick()
		f.expect(t, "m11 m12")

		enough := errors.New("enough")
		f.stop(enough)
		synctest.Wait()
		if f.ended != enough {
			t.Errorf("ended with %v", f.ended)
		}
	})
}

func TestFollowWaitsForTheFirstLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "later.log")
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, func() []string { return []string{file} }, 0)
		tick()
		write(t, file, 1, 1)
		tick()
		f.expect(t, "m1")
		f.stop(nil)
		synctest.Wait()
	})
}

func TestFollowEndsWithItsListener(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.log")
	write(t, file, 1, 3)
	gone := errors.New("listener gone")
	count := 0
	err := logging.Follow(t.Context(), func() []string { return []string{file} }, 3, func(logging.Entry) error {
		count++
		return gone
	})
	if err != gone || count != 1 {
		t.Errorf("ended with %v after %d", err, count)
	}
}

func appendText(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
