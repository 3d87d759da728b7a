package logging_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/logging"
)

var noon = time.Date(2026, 2, 9, 17, 0, 1, 999, time.FixedZone("", 3600))

func newLog(t *testing.T) *logging.Log {
	t.Helper()
	return &logging.Log{Store: t.TempDir(), Now: func() time.Time { return noon }}
}

func content(t *testing.T, l *logging.Log, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.Store, "logs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLine(t *testing.T) {
	for _, test := range []struct {
		name string
		log  func(*logging.Log)
		want string
	}{
		{"error", func(l *logging.Log) {
			l.Error(logging.About{ThreadID: "thread-abc"}, errcodes.LockFailed.With("attempts", 10, "waited", "21.3s"))
		}, `time=2026-02-09T16:00:01Z level=error threadId=thread-abc code=T501 msg="File lock failed after 10 attempts" attempts=10 duration=21.3s` + "\n"},
		{"warning", func(l *logging.Log) {
			l.Warning(logging.About{}, errcodes.TargetUnresolved.Warn("target", "thread-old", "reason", "file not found"))
		}, `time=2026-02-09T16:00:01Z level=warn code=W202 msg="Reference target 'thread-old' could not be resolved" target=thread-old reason="file not found"` + "\n"},
		{"a detail names the thread", func(l *logging.Log) {
			l.Error(logging.About{Operation: "artifact put", ThreadID: "thread-a"}, fmt.Errorf("put: %w", errcodes.ThreadNotFound.With("nearest", "thread-c", "threadId", "thread-b")))
		}, `time=2026-02-09T16:00:01Z level=error threadId=thread-b code=T101 msg="Thread 'thread-b' not found" nearest=thread-c operation="artifact put"` + "\n"},
		{"nested values", func(l *logging.Log) {
			l.Error(logging.About{}, errcodes.CircularReference.With("path", []string{"a", "b", "a"}, "references", []string{}, "more", map[string]int{"x": 1}))
		}, `time=2026-02-09T16:00:01Z level=error code=T201 msg="Circular reference detected: a -> b -> a" path="[\"a\",\"b\",\"a\"]" references=[] more="{\"x\":1}"` + "\n"},
		{"no code, and a cause", func(l *logging.Log) {
			l.Error(logging.About{}, errcodes.WriteFailed.With("path", "x", "reason", "full").Because(errors.New("write x: no space")))
		}, `time=2026-02-09T16:00:01Z level=error code=T503 msg="Cannot write x: full" path=x reason=full cause="write x: no space"` + "\n"},
		{"an error without a code", func(l *logging.Log) {
			l.Error(logging.About{}, errors.New("boom"))
		}, `time=2026-02-09T16:00:01Z level=error code=T901 msg="Internal error: boom" problem=boom` + "\n"},
		{"a retry", func(l *logging.Log) {
			l.Retry(logging.About{ThreadID: "thread-a"}, errcodes.LockFailed.With("attempts", 3), 3, 400*time.Millisecond)
		}, `time=2026-02-09T16:00:01Z level=warn threadId=thread-a code=T501 msg="Attempt 3 failed, another follows: File lock failed" attempts=3 attempt=3 delay=400ms` + "\n"},
		{"a detail that is called like a leading key", func(l *logging.Log) {
			l.Error(logging.About{}, errcodes.Internal.With("problem", "p", "level", "info", "msg", "m", "code", "T101"))
		}, `time=2026-02-09T16:00:01Z level=error code=T901 msg="Internal error: p" problem=p detail.level=info detail.msg=m detail.code=T101` + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLog(t)
			test.log(l)
			if got := content(t, l, "leslie.log"); got != test.want {
				t.Errorf("got  %swant %s", got, test.want)
			}
		})
	}
}

func TestThreadHasItsOwnLog(t *testing.T) {
	l := newLog(t)
	l.Warning(logging.About{ThreadID: "thread-a", ObjectiveID: "obj-a"}, errcodes.ChildrenOpen.Warn("threadId", "thread-a", "count", 2))
	l.Error(logging.About{ThreadID: "thread-b"}, errcodes.ThreadNotFound.With("threadId", "thread-b"))
	all, own := content(t, l, "leslie.log"), content(t, l, "obj-a/thread-a.log")
	if strings.Count(all, "\n") != 2 || !strings.HasPrefix(all, own) || strings.Count(own, "\n") != 1 {
		t.Errorf("all:\n%sown:\n%s", all, own)
	}
}

func TestNamesNeverLeaveTheLogs(t *testing.T) {
	for _, bad := range []string{"..", "../x", "a/b", "", ".", "-a", "a\n", "a.b", strings.Repeat("x", 65), "leslie.log"} {
		for _, about := range []logging.About{{ThreadID: bad, ObjectiveID: "obj-a"}, {ThreadID: "thread-a", ObjectiveID: bad}} {
			l := newLog(t)
			l.Error(about, errcodes.NoStore.With())
			found := tree(t, l.Store)
			if !reflect.DeepEqual(found, []string{"logs", "logs/leslie.log"}) {
				t.Errorf("%q made %v", about, found)
			}
		}
	}
}

func tree(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if name, _ := filepath.Rel(root, path); name != "." {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What cannot be written is dropped without a word, and nothing but a regular
// file of the store is ever written to.
func TestUnwritableIsSilent(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(outside, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, prepare := range map[string]func(store string){
		"no store":                    func(store string) { check(os.Remove(store)) },
		"store is a file":             func(store string) { check(os.Remove(store)); check(os.WriteFile(store, nil, 0o600)) },
		"logs is a file":              func(store string) { check(os.WriteFile(store+"/logs", nil, 0o600)) },
		"logs is a link":              func(store string) { check(os.Symlink(filepath.Dir(outside), store+"/logs")) },
		"logs is a link in the store": func(store string) { check(os.Mkdir(store+"/ops", 0o700)); check(os.Symlink("ops", store+"/logs")) },
		"log is a link out": func(store string) {
			check(os.Mkdir(store+"/logs", 0o700))
			check(os.Symlink(outside, store+"/logs/leslie.log"))
		},
		"log is a link in the store": func(store string) {
			check(os.Mkdir(store+"/logs", 0o700))
			check(os.WriteFile(store+"/state", nil, 0o600))
			check(os.Symlink("../state", store+"/logs/leslie.log"))
		},
		"log is a FIFO": func(store string) {
			check(os.Mkdir(store+"/logs", 0o700))
			check(syscall.Mkfifo(store+"/logs/leslie.log", 0o600))
		},
		"log is a directory": func(store string) { check(os.MkdirAll(store+"/logs/leslie.log", 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "store")
			check(os.Mkdir(store, 0o700))
			prepare(store)
			l := &logging.Log{Store: store}
			l.Error(logging.About{}, errcodes.NoStore.With())
			text, err := os.ReadFile(outside)
			check(err)
			if string(text) != "precious" {
				t.Errorf("the log went to %q", text)
			}
			for _, other := range []string{"state", "ops/leslie.log"} {
				if text, err := os.ReadFile(filepath.Join(store, other)); err == nil && len(text) > 0 {
					t.Errorf("the log went to %s", other)
				}
			}
		})
	}
	(&logging.Log{}).Error(logging.About{}, errcodes.NoStore.With())
}

func TestTornLineIsLeftBehind(t *testing.T) {
	l := newLog(t)
	if err := os.Mkdir(l.Store+"/logs", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Store+"/logs/leslie.log", []byte(`time=2026-02-09T16:00:01Z level=error msg="cut`), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Error(logging.About{}, errcodes.NoStore.With())
	entries, err := logging.Read(logging.Files(l.Store, logging.About{}), 0)
	if err != nil || len(entries) != 1 || entries[0].Code != "T504" {
		t.Errorf("read %v %v", entries, err)
	}
}

const child = "LOGGING_TEST_STORE"

// TestMain lets the test binary stand in for one of many processes.
func TestMain(m *testing.M) {
	if store := os.Getenv(child); store != "" {
		writeMany(store)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const lines = 200

func writeMany(store string) {
	l := &logging.Log{Store: store}
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for i := range lines {
				problem := strings.Repeat("long ", i*7%900) + "line\nwith=two"
				l.Error(logging.About{ThreadID: "thread-a", ObjectiveID: "obj-a"}, errcodes.Internal.With("problem", problem, "n", i))
			}
		})
	}
	writers.Wait()
}

func TestLinesOfManyProcessesStayWhole(t *testing.T) {
	store := t.TempDir()
	var processes []*exec.Cmd
	for range 4 {
		p := exec.Command(os.Args[0])
		p.Env = append(os.Environ(), child+"="+store)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		processes = append(processes, p)
	}
	for _, p := range processes {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	for _, about := range []logging.About{{}, {ThreadID: "thread-a", ObjectiveID: "obj-a"}, {ObjectiveID: "obj-a"}} {
		files := logging.Files(store, about)
		entries, err := logging.Read(files, 0)
		if err != nil || len(entries) != 4*2*lines {
			t.Errorf("%v: %d entries (%v), want %d", files, len(entries), err, 4*2*lines)
		}
		raw, _ := os.ReadFile(files[0])
		if strings.Count(string(raw), "\n") != 4*2*lines {
			t.Errorf("%v: a line was broken", files)
		}
	}
}

func TestSecretsAreHidden(t *testing.T) {
	environment := []string{
		"GITHUB_TOKEN=gh-abc123", "db_password=pa\"ss\nword", "AWS_ACCESS_KEY_ID=AKIA1234", "SERVICE_CREDENTIALS=c=r=e=d",
		"MY_SECRET=gh-abc123-longer", "PASSWORD=short", "HOME=/home/visible", "EMPTY_TOKEN=", "NOTHING",
	}
	l := newLog(t)
	l.Secrets = logging.SecretsOf(environment)
	said := fmt.Sprintf("gh-abc123 gh-abc123-longer pa\"ss\nword %q AKIA1234 c=r=e=d /home/visible short", "pa\"ss\nword")
	l.Error(logging.About{Operation: "run AKIA1234"}, errcodes.Internal.With("problem", said, "list", []string{said}, "map", map[string]string{"k": said}).Because(errors.New("beneath AKIA1234")))
	line := content(t, l, "leslie.log")
	for _, secret := range []string{"gh-abc", "longer", "ss", "word", "AKIA", "c=r"} {
		if strings.Contains(line, secret) {
			t.Errorf("%q stands in the log:\n%s", secret, line)
		}
	}
	for _, innocent := range []string{"/home/visible", "short", "msg=\"Internal error: *** *** *** \\\"***\\\" ***"} {
		if !strings.Contains(line, innocent) {
			t.Errorf("%q is gone:\n%s", innocent, line)
		}
	}
	if e, ok := logging.Parse(strings.TrimSuffix(line, "\n")); !ok || e.Code != "T901" {
		t.Errorf("the line does not parse: %s", line)
	}
}

func TestTerminalSeesTheSameRecords(t *testing.T) {
	for _, color := range []bool{false, true} {
		var out strings.Builder
		l := newLog(t)
		l.Secrets = logging.SecretsOf([]string{"X_TOKEN=secret-1"})
		l.Terminal = logging.Terminal(&out, color, slog.LevelWarn)
		l.Error(logging.About{ThreadID: "thread-a"}, errcodes.Internal.With("problem", "a\x1b[2Jb\nlevel \u202e secret-1", "raw", "\x1b]0;t\x07", "text", `\x1b[2J!`, "list", []string{"x"}))
		l.Debug(logging.About{}, "not shown")
		got := out.String()
		if color {
			for _, code := range []string{"\x1b[91m", "\x1b[2m", "\x1b[22m", "\x1b[0m"} {
				got = strings.ReplaceAll(got, code, "")
			}
			if got == out.String() {
				t.Errorf("no colour in %q", got)
			}
		}
		want := `ERR Internal error: a␛[2Jb␊level ? *** threadId=thread-a code=T901 problem="a␛[2Jb␊level ? ***" raw=␛]0;t␇ text=\␛[2J! list="[\"x\"]"` + "\n"
		if got != want {
			t.Errorf("got  %qwant %q", got, want)
		}
		if file := content(t, l, "leslie.log"); strings.Contains(file, "ERR") || strings.Contains(file, "\x1b") || !strings.HasPrefix(file, "time=") {
			t.Errorf("the file got %q", file)
		}
	}
}

func TestDebugIsForTheTerminalAlone(t *testing.T) {
	var out strings.Builder
	l := newLog(t)
	l.Terminal = logging.Terminal(&out, false, slog.LevelDebug)
	l.Debug(logging.About{ThreadID: "thread-a"}, "lock taken", slog.Duration("after", 3*time.Millisecond))
	if got := out.String(); got != "DBG lock taken threadId=thread-a after=3ms\n" {
		t.Errorf("got %q", got)
	}
	if found := tree(t, l.Store); len(found) > 0 {
		t.Errorf("the store got %v", found)
	}
}

func TestHandlerServesSlog(t *testing.T) {
	var out strings.Builder
	logger := slog.New(logging.NewHandler(&out, nil)).With("b", 1, "threadId", "thread-a").WithGroup("g")
	logger.Info("hello", "c", true, slog.Group("h", "at", noon, "code", "T101"))
	_, rest, _ := strings.Cut(out.String(), " ")
	if want := "level=info threadId=thread-a msg=hello b=1 g.c=true g.h.at=2026-02-09T16:00:01Z g.h.code=T101\n"; rest != want {
		t.Errorf("got  %swant %s", rest, want)
	}
}

func TestLongValuesAreCut(t *testing.T) {
	l := newLog(t)
	l.Error(logging.About{}, errcodes.Internal.With("problem", strings.Repeat("é", 100_000)))
	if line := content(t, l, "leslie.log"); len(line) > 9_000 || slices.Contains([]byte(line), 0) || !strings.Contains(line, "é…") {
		t.Errorf("a line of %d bytes", len(line))
	}
}
