package response_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/response"
)

// write renders r and returns what stands on stdout and on stderr.
func write(t *testing.T, out response.Output, r response.Response) (string, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	out.Stdout, out.Stderr = &stdout, &stderr
	if err := response.Write(out, r); err != nil {
		t.Errorf("Write returned %v", err)
	}
	return stdout.String(), stderr.String()
}

type thread struct {
	ID     string   `json:"id"`
	Status string   `json:"status"`
	Tags   []string `json:"tags"`
	Title  string   `json:"title"`
}

type page struct {
	Threads []thread `json:"threads"`
	Count   int      `json:"count"`
	Next    string   `json:"next,omitempty"`
}

func threads(n int) page {
	p := page{Count: n}
	for i := range n {
		p.Threads = append(p.Threads, thread{ID: "thread-" + strconv.Itoa(i), Status: "active", Tags: []string{"a", "b c"}, Title: "Thread number " + strconv.Itoa(i)})
	}
	return p
}

func TestLogfmt(t *testing.T) {
	for name, test := range map[string]struct {
		response       response.Response
		stdout, stderr string
	}{
		"nothing": {response.Response{}, "ok\n", ""},
		"list": {
			response.Response{Data: threads(2)},
			"thread id=thread-0 status=active tags.0=a tags.1=\"b c\" title=\"Thread number 0\"\n" +
				"thread id=thread-1 status=active tags.0=a tags.1=\"b c\" title=\"Thread number 1\"\nok count=2\n", "",
		},
		"empty list": {response.Response{Data: threads(0)}, "ok threads=[] count=0\n", ""},
		"several lists": {
			response.Response{Data: map[string]any{"entries": []any{map[string]any{}}, "matches": []any{map[string]any{"a": 1}}, "children": []string{"x"}, "mixed": []any{1, map[string]any{}}}},
			"entry\nmatch a=1\nok children.0=x mixed.0=1 mixed.1={}\n", "",
		},
		"types": {
			response.Response{Data: map[string]any{"s": "42", "n": 42, "b": true, "t": "true", "e": "", "z": []any{nil}, "l": "[]", "w": "a b", "q": `a"b`, "eq": "a=b", "nl": "a\nb", "bs": `a\b`, "u": "grün😀", "c": "\x1b[31m\u202e", "h": "0x1F", "i": "inf"}},
			`ok b=true bs="a\\b" c="\u001b[31m\u202e" e="" eq="a=b" h="0x1F" i="inf" l="[]" n=42 nl="a\nb" q="a\"b" s="42" t="true" u=grün😀 w="a b" z.0=null` + "\n", "",
		},
		"keys": {
			response.Response{Data: map[string]any{"counts": map[string]any{"active": 1, "a.b": 2, "0": 3, "": 4, "a b": 5}}},
			`ok counts.""=4 counts."0"=3 counts."a b"=5 counts."a.b"=2 counts.active=1` + "\n", "",
		},
		"text":          {response.Response{Data: map[string]any{"tree": "a\n  b"}, Text: "tree"}, "a\n  b\n", ""},
		"text as it is": {response.Response{Data: map[string]any{"tree": "a\n"}, Text: "tree"}, "a\n", ""},
		"error": {
			response.Response{Err: errcodes.ThreadNotFound.With("threadId", "thread-x"), Operation: "status", Suffix: " --root '/a b'"},
			"", `error code=T101 msg="Thread 'thread-x' not found" threadId=thread-x hint="Check the id or spawn a thread" retryable=false retry=after_fix effect=none operation=status next.0="leslie list --all --root '/a b'"` + "\n",
		},
		"partial result": {
			response.Response{
				Data: map[string]any{"threads": []any{map[string]any{"id": "a"}}, "mergeId": "m"}, Err: errcodes.Interrupted.With("signal", "SIGINT"), Operation: "x",
				Warnings: errcodes.Warnings{errcodes.TargetUnresolved.Warn("target", "t\nerror code=T999")},
			},
			"thread id=a\npartial mergeId=m\n",
			`warning code=W202 msg="Reference target 't\nerror code=T999' could not be resolved" target="t\nerror code=T999"` + "\n" +
				`error code=T904 msg="Interrupted by SIGINT" signal=SIGINT hint="What had been acknowledged is kept" retryable=false retry=same effect=none operation=x` + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr := write(t, response.Output{Format: response.Logfmt}, test.response)
			if stdout != test.stdout || stderr != test.stderr {
				t.Errorf("stdout %s\nwant   %s\nstderr %s\nwant   %s", stdout, test.stdout, stderr, test.stderr)
			}
		})
	}
}

func TestTerminal(t *testing.T) {
	data := page{Threads: []thread{{ID: "a", Status: "active", Tags: []string{"x"}}, {ID: "thread-long", Status: "done", Tags: []string{"x"}}}, Count: 2}
	stdout, _ := write(t, response.Output{StdoutTerminal: true}, response.Response{Data: data})
	want := "thread id=a           status=active tags.0=x title=\"\"\nthread id=thread-long status=done   tags.0=x title=\"\"\nok count=2\n"
	if stdout != want {
		t.Errorf("got\n%swant\n%s", stdout, want)
	}
	for text := range strings.Lines(stdout) {
		if _, pairs, err := response.ParseLine(strings.TrimSuffix(text, "\n")); err != nil || len(pairs) == 0 {
			t.Errorf("%q does not parse: %v", text, err)
		}
	}
	stdout, _ = write(t, response.Output{StdoutTerminal: true}, response.Response{Data: map[string]any{"help": "a\tb\x1b[31m\nc"}, Text: "help"})
	if stdout != "a\tb\uFFFD[31m\nc\n" {
		t.Errorf("text on a terminal is %q", stdout)
	}
	stdout, stderr := write(t, response.Output{Color: true, StderrTerminal: true}, response.Response{Err: errcodes.NoStore})
	if stdout != "" || !strings.HasPrefix(stderr, "\x1b[31merror\x1b[0m code=T504 ") {
		t.Errorf("colour: %q, %q", stdout, stderr)
	}
}

func TestDiagnose(t *testing.T) {
	var shown []string
	out := response.Output{StderrTerminal: true, Diagnose: func(level slog.Level, message string, attrs []slog.Attr) {
		shown = append(shown, level.String()+" "+message+" "+attrs[0].String())
	}}
	r := response.Response{Err: errcodes.NoStore, Warnings: errcodes.Warnings{errcodes.TargetUnresolved.Warn("target", "x")}}
	stdout, stderr := write(t, out, r)
	want := []string{"WARN Reference target 'x' could not be resolved code=W202", "ERROR No .leslie directory here or above code=T504"}
	if !slices.Equal(shown, want) || stdout+stderr != "" {
		t.Errorf("shown %q, stdout %q, stderr %q", shown, stdout, stderr)
	}
	out.Format = response.JSON
	if _, stderr = write(t, out, r); len(shown) != 2 || stderr != "" {
		t.Errorf("as JSON shown %q, stderr %q", shown, stderr)
	}
}

type brokenPipe struct{ calls int }

func (b *brokenPipe) Write(p []byte) (int, error) { b.calls++; return 0, syscall.EPIPE }

type shortPipe struct{}

func (shortPipe) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestStdoutFails(t *testing.T) {
	broken := &brokenPipe{}
	var stderr bytes.Buffer
	err := response.Write(response.Output{Stdout: broken, Stderr: &stderr}, response.Response{Data: threads(3)})
	if !errors.Is(err, errcodes.WriteFailed) || !errors.Is(err, syscall.EPIPE) || errcodes.Of(err).Detail("path") != "stdout" || broken.calls != 1 {
		t.Errorf("Write returned %v after %d calls", err, broken.calls)
	}
	if err := response.Event(response.Output{Stdout: shortPipe{}}, map[string]int{"a": 1}); !errors.Is(err, errcodes.WriteFailed) {
		t.Errorf("Event returned %v", err)
	}
}

func TestEvent(t *testing.T) {
	var stdout bytes.Buffer
	if err := response.Event(response.Output{Format: response.Logfmt, Stdout: &stdout}, thread{ID: "a\nb"}); err != nil {
		t.Fatal(err)
	}
	if want := `{"id":"a\nb","status":"","tags":[],"title":""}` + "\n"; stdout.String() != want {
		t.Errorf("event is %s", stdout.String())
	}
}

// FuzzLogfmt: whatever data holds, the line parses back to it, and no value
// makes a second line.
func FuzzLogfmt(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":"b"}`, `{"a":[1,"1",true,"true",null,"null",[],"[]",{},"{}"]}`, `{"a.b":{"0":["x"]},"":{"":""}}`,
		`{"a":"\u001b\n\"\\=\ud83d\ude00\u200d\u2028"}`, `{"a":-0.5e+10,"b":"-0.5e+10","c":"[1]","d":"1_0","e":"Infinity","f":"'x'"}`, `{"k\n=":{"\"":1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, seed []byte) {
		decoder := json.NewDecoder(bytes.NewReader(seed))
		decoder.UseNumber()
		var data map[string]any
		if decoder.Decode(&data) != nil || data == nil {
			t.Skip()
		}
		data = withoutNull(data).(map[string]any)
		stdout, _ := write(t, response.Output{}, response.Response{Data: map[string]any{"x": data}})
		text, found := strings.CutSuffix(stdout, "\n")
		if !found || strings.ContainsAny(text, "\n\r\x1b\u2028") {
			t.Fatalf("not one line: %q", stdout)
		}
		word, pairs, err := response.ParseLine(text)
		if err != nil || word != "ok" {
			t.Fatalf("%q: %v", text, err)
		}
		if got := build(pairs)["x"]; !reflect.DeepEqual(got, any(data)) {
			t.Fatalf("%q\ngot  %#v\nwant %#v", text, got, data)
		}
	})
}

// withoutNull drops members that are null, as every answer does.
func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if member == nil {
				delete(v, key)
				continue
			}
			v[key] = withoutNull(member)
		}
	case []any:
		for i := range v {
			v[i] = withoutNull(v[i])
		}
	}
	return v
}

// build makes nested values of pairs.
func build(pairs []response.Pair) map[string]any {
	var root any = map[string]any{}
	for _, p := range pairs {
		root = place(root, p.Path, p.Value)
	}
	return root.(map[string]any)
}

func place(into any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if at, err := strconv.Atoi(path[0]); err == nil {
		list, _ := into.([]any)
		if at == len(list) {
			list = append(list, nil)
		}
		list[at] = place(list[at], path[1:], value)
		return list
	}
	members, _ := into.(map[string]any)
	if members == nil {
		members = map[string]any{}
	}
	key := path[0]
	if strings.HasPrefix(key, `"`) {
		if err := json.Unmarshal([]byte(key), &key); err != nil {
			panic(err)
		}
	}
	members[key] = place(members[key], path[1:], value)
	return members
}

func TestParseLineRefuses(t *testing.T) {
	for _, bad := range []string{"", " ok", "ok a", "ok =1", `ok a="x`, `ok a="x"y`, `ok a=b"c`, `ok a="\x"`, "ok a=", "ok a=b\tc", `ok a.=1`, "ok a=b=c", "a=b"} {
		if _, _, err := response.ParseLine(bad); err == nil {
			t.Errorf("%q parses", bad)
		}
	}
}

func BenchmarkLogfmt(b *testing.B) { benchmark(b, response.Logfmt) }

func BenchmarkJSON(b *testing.B) { benchmark(b, response.JSON) }

func benchmark(b *testing.B, format response.Format) {
	type full struct {
		thread
		Children  []string       `json:"children"`
		Counts    map[string]int `json:"counts"`
		CreatedAt time.Time      `json:"createdAt"`
		Revision  int64          `json:"revision"`
	}
	data := struct {
		Threads []full `json:"threads"`
		Count   int    `json:"count"`
	}{Count: 50}
	for _, t := range threads(50).Threads {
		data.Threads = append(data.Threads, full{thread: t, Counts: map[string]int{"active": 1}, CreatedAt: time.Unix(1_700_000_000, 0)})
	}
	var sink bytes.Buffer
	out := response.Output{Format: format, Stdout: &sink, Stderr: &sink}
	b.ReportAllocs()
	for b.Loop() {
		sink.Reset()
		if err := response.Write(out, response.Response{Data: data}); err != nil {
			b.Fatal(err)
		}
	}
}
