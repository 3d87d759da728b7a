package response_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/response"
)

type shape struct {
	ID       string         `json:"id"`
	Children []string       `json:"children"`
	Counts   map[string]int `json:"counts"`
	Parent   *string        `json:"parent"`
	Any      any            `json:"any"`
	Note     string         `json:"note,omitempty"`
	Skipped  []string       `json:"skipped,omitzero"`
	At       time.Time      `json:"at"`
	Took     time.Duration  `json:"took"`
	hidden   []string
	Ignored  string `json:"-"`
}

type embedding struct {
	stamp
	Shapes []shape `json:"shapes"`
}

type stamp struct {
	OperationID string `json:"operationId"`
}

func line(r response.Response) string {
	return strings.TrimSuffix(string(r.JSON()), "\n")
}

func TestJSON(t *testing.T) {
	at := time.Date(2026, 2, 9, 16, 0, 1, 500_000_000, time.UTC)
	for name, test := range map[string]struct {
		response response.Response
		want     string
	}{
		"nothing": {response.Response{}, `{"success":true,"data":{},"warnings":[]}`},
		"nothing is null": {
			response.Response{Data: shape{ID: "a", At: at, Took: 21300 * time.Millisecond, hidden: []string{"x"}, Ignored: "x"}},
			`{"success":true,"data":{"id":"a","children":[],"counts":{},"at":"2026-02-09T16:00:01.5Z","took":"21.3s"},"warnings":[]}`,
		},
		"embedded, nested": {
			response.Response{Data: &embedding{stamp{"op-1"}, nil}},
			`{"success":true,"data":{"operationId":"op-1","shapes":[]},"warnings":[]}`,
		},
		"maps": {
			response.Response{Data: map[string]any{"b": []any{nil, []string(nil)}, "a": map[string][]int{"x": nil}, "none": nil}},
			`{"success":true,"data":{"a":{"x":[]},"b":[null,[]]},"warnings":[]}`,
		},
		"text": {
			response.Response{Data: map[string]string{"t": "<a>&\u2028\x00\"\xff\\ü😀"}},
			`{"success":true,"data":{"t":"<a>&\u2028\u0000\"` + "\uFFFD" + `\\ü😀"},"warnings":[]}`,
		},
		"warning": {
			response.Response{Warnings: errcodes.Warnings{errcodes.TargetUnresolved.Warn("target", "thread-old", "reason", "gone")}},
			`{"success":true,"data":{},"warnings":[{"code":"W202","message":"Reference target 'thread-old' could not be resolved","context":{"target":"thread-old","reason":"gone"}}]}`,
		},
		"partial result": {
			response.Response{Data: map[string]any{"done": 2}, Err: errcodes.Interrupted.With("signal", "SIGINT"), Operation: "batch"},
			`{"success":false,"error":{"code":"T904","message":"Interrupted by SIGINT","details":{"signal":"SIGINT","hint":"What had been acknowledged is kept","retryable":false,"retry":"same","effect":"none","operation":"batch"}},"data":{"done":2},"warnings":[]}`,
		},
		"raw": {
			response.Response{Data: map[string]any{"raw": json.RawMessage(`{ "a" : 1 }`), "n": json.Number("1e400"), "f": 0.1, "b": []byte("hi")}},
			`{"success":true,"data":{"b":"aGk=","f":0.1,"n":1e400,"raw":{"a":1}},"warnings":[]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := line(test.response); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// The facts of the code stand first, in their order; then what every error
// says; and no key twice.
func TestDetails(t *testing.T) {
	locked := errcodes.LockFailed.With("attempts", 10, "waited", 21300*time.Millisecond, "holder", "4711")
	locked.Effect = errcodes.Partial
	got := gjson.Get(line(response.Response{Err: locked, Operation: "spawn", Command: "leslie spawn"}), "error.details")
	entry := errcodes.LockFailed.Entry()
	var keys []string
	for key := range got.Keys() {
		keys = append(keys, key.Str)
	}
	want := "attempts waited holder hint retryable retry"
	if entry.Delay > 0 {
		want += " retryAfterMs"
	}
	if want += " effect operation"; !strings.HasPrefix(strings.Join(keys, " "), want) {
		t.Errorf("keys are %v, want %s", keys, want)
	}
	if got.Get("waited").Str != "21.3s" || !got.Get("retryable").Bool() || got.Get("effect").Str != "partial" {
		t.Errorf("details are %s", got.Raw)
	}
}

// A detail speaks of this occurrence and counts before the catalogue; but
// operation is always the command.
func TestDetailsOfOccurrence(t *testing.T) {
	err := errcodes.StoreCorrupted.With("operation", "x", "retry", errcodes.AfterHuman, "retryAfterMs", 5, "reason", "bad",
		"next", []string{"leslie doctor"}, "lost", nil, "fn", func() {})
	got := gjson.Get(line(response.Response{Err: err, Operation: "status"}), "error.details")
	if got.Get("operation").Str != "status" || got.Get("retry").Str != "after_human" || got.Get("retryAfterMs").Int() != 5 || got.Get("next.0").Str != "leslie doctor" {
		t.Errorf("details are %s", got.Raw)
	}
	if strings.Count(got.Raw, `"operation"`) != 1 || got.Get("lost").Exists() || got.Get("fn").Exists() {
		t.Errorf("details are %s", got.Raw)
	}
}

func TestNextCarriesSuffix(t *testing.T) {
	r := response.Response{
		Err:    errcodes.StoreCorrupted.With("next", []string{"leslie doctor", "leslie spawn -- --x", "leslie spawn --intent 'a -- b'", "rm -r x", "leslie a --root /x"}),
		Suffix: " --root /x",
	}
	var got []string
	for _, command := range gjson.Get(line(r), "error.details.next").Array() {
		got = append(got, command.Str)
	}
	want := []string{"leslie doctor --root /x", "leslie spawn --root /x -- --x", "leslie spawn --intent 'a -- b' --root /x", "rm -r x", "leslie a --root /x"}
	if len(got) < len(want) || strings.Join(got[:len(want)], "\n") != strings.Join(want, "\n") {
		t.Errorf("next is %q", got)
	}
}

func TestUncoded(t *testing.T) {
	got := line(response.Response{Err: errors.New("boom"), Operation: "list"})
	if gjson.Get(got, "error.code").Str != "T901" || gjson.Get(got, "error.message").Str != "Internal error: boom" {
		t.Error(got)
	}
}

func TestUnencodable(t *testing.T) {
	type knot struct{ Self *knot }
	tied := &knot{}
	tied.Self = tied
	for name, data := range map[string]any{
		"number": map[string]any{"x": math.NaN()}, "channel": map[string]any{"x": make(chan int)},
		"list": []int{1}, "knot": tied, "map": map[struct{}]int{{}: 1}, "raw": map[string]any{"x": json.RawMessage(`{`)},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout bytes.Buffer
			err := response.Write(response.Output{Format: response.JSON, Stdout: &stdout}, response.Response{Data: data, Operation: "list"})
			if !errors.Is(err, errcodes.Internal) {
				t.Errorf("Write returned %v", err)
			}
			got := stdout.Bytes()
			if !json.Valid(got) || gjson.GetBytes(got, "error.code").Str != "T901" || gjson.GetBytes(got, "error.details.effect").Str != "unknown" {
				t.Errorf("wrote %s", got)
			}
		})
	}
}

// Apart from what is null and from HTML, the encoding is that of encoding/json.
func TestEncodesAsStandard(t *testing.T) {
	type inner struct {
		S string            `json:"s"`
		F float64           `json:"f,omitempty"`
		M map[string]string `json:"m"`
	}
	type outer struct {
		inner
		L []inner         `json:"l"`
		P *inner          `json:"p,omitempty"`
		U uint8           `json:",omitempty"`
		B bool            `json:"b"`
		K map[int]float32 `json:"k"`
		T time.Time       `json:"t"`
		A [2]int64        `json:"a"`
	}
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) inner {
			return inner{rapid.String().Draw(t, "s"), rapid.Float64().Draw(t, "f"), rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "m")}
		})
		v := outer{
			inner: one.Draw(t, "inner"), L: append([]inner{}, rapid.SliceOf(one).Draw(t, "l")...), P: rapid.Ptr(one, true).Draw(t, "p"),
			U: rapid.Uint8().Draw(t, "u"), B: rapid.Bool().Draw(t, "b"), K: rapid.MapOf(rapid.IntRange(-5, 5), rapid.Float32()).Draw(t, "k"),
			T: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "t"), 0), A: [2]int64{1, math.MinInt64},
		}
		var want bytes.Buffer
		standard := json.NewEncoder(&want)
		standard.SetEscapeHTML(false)
		if err := standard.Encode(v); err != nil {
			t.Fatal(err)
		}
		got := gjson.Get(line(response.Response{Data: v, Unbounded: true}), "data").Raw
		if got != strings.TrimSpace(want.String()) {
			t.Fatalf("got  %s\nwant %s", got, want.String())
		}
	})
}
