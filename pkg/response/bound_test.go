package response_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/response"
)

const most = 20_480

// bounded returns the response, which must keep the rules of every one.
func bounded(t interface{ Fatalf(string, ...any) }, r response.Response) gjson.Result {
	line := r.JSON()
	text := strings.TrimSuffix(string(line), "\n")
	switch {
	case len(line) > most:
		t.Fatalf("%d bytes", len(line))
	case !json.Valid(line) || !utf8.Valid(line) || strings.Contains(text, "\n"):
		t.Fatalf("not one valid line: %.300s", line)
	case !strings.HasPrefix(text, `{"success":`):
		t.Fatalf("success is not first: %.300s", line)
	}
	return gjson.Parse(text)
}

func TestBoundOfList(t *testing.T) {
	data := threads(500)
	got := bounded(t, response.Response{Data: data, Command: "leslie list --limit 500", Operation: "list"}).Get("data")
	shown := got.Get("threads").Array()
	if len(shown) < 100 || shown[len(shown)-1].Get("id").Str != "thread-499" {
		t.Errorf("%d are shown, the last is %s", len(shown), shown[len(shown)-1].Raw)
	}
	if got.Get("count").Int() != int64(len(shown)) || got.Get("omitted").Int() != int64(500-len(shown)) {
		t.Errorf("count %s, omitted %s of %d shown", got.Get("count"), got.Get("omitted"), len(shown))
	}
	if next := got.Get("next").Str; next != "leslie list --limit 500 --full" {
		t.Errorf("next is %q", next)
	}
	if got.Get("truncated").Exists() {
		t.Errorf("truncated is %s", got.Get("truncated"))
	}
	if whole := (response.Response{Data: data, Unbounded: true}).JSON(); len(gjson.GetBytes(whole, "data.threads").Array()) != 500 {
		t.Error("an unbounded answer was shortened")
	}
}

// A next that leads to the page before goes on where this one now begins, so
// that who follows it misses nothing.
func TestBoundKeepsPagesTogether(t *testing.T) {
	data := threads(500)
	before := func(id string) string { return "leslie list --before " + id + " --root /x" }
	for _, last := range []bool{false, true} {
		data.Next = before("thread-0")
		if last {
			data.Next = ""
		}
		got := bounded(t, response.Response{Data: data, Command: "leslie list", Before: before}).Get("data")
		if want := before(got.Get("threads.0.id").Str); got.Get("next").Str != want {
			t.Errorf("next is %q, want %q", got.Get("next").Str, want)
		}
	}
}

// Without pages, a next that would show more is no way on from an answer that
// is cut already.
func TestBoundOffersTheWholeFirst(t *testing.T) {
	data := threads(500)
	data.Next = "leslie list --limit 2000"
	got := bounded(t, response.Response{Data: data, Command: "leslie list --limit 500"}).Get("data")
	if got.Get("next").Str != "leslie list --limit 500 --full" {
		t.Errorf("next is %q", got.Get("next").Str)
	}
}

func TestBoundOfLongElement(t *testing.T) {
	data := threads(10)
	data.Threads[9].Title = strings.Repeat("\u00e9\"", 100_000)
	got := bounded(t, response.Response{Data: data}).Get("data")
	if n := len(got.Get("threads").Array()); n != 10 || got.Get("omitted").Exists() {
		t.Errorf("%d elements are shown", n)
	}
	if title := got.Get("threads.9.title").Str; !strings.HasSuffix(title, "…") || got.Get("truncated").Raw != `["threads.9.title"]` {
		t.Errorf("title is %q, truncated %s", title, got.Get("truncated"))
	}
}

// A command that did something is not offered again.
func TestBoundDoesNotRepeatWrites(t *testing.T) {
	long := strings.Repeat("x", 30_000)
	for _, r := range []response.Response{
		{Command: "leslie spawn", Data: map[string]any{"operationId": "op-1", "text": long}},
		{Command: "leslie merge", Err: &errcodes.Error{Code: errcodes.MergeConflict, Effect: errcodes.Partial, Details: []errcodes.Attr{{Key: "x", Value: long}}}},
	} {
		if got := bounded(t, r); strings.Contains(got.Raw, "--full") || !strings.Contains(got.Raw, `"truncated":["`) {
			t.Errorf("%.200s ... %s", got.Raw, got.Raw[len(got.Raw)-200:])
		}
	}
}

func TestBoundOfText(t *testing.T) {
	got := bounded(t, response.Response{Data: map[string]any{"context": strings.Repeat("line\n", 8000)}, Command: "leslie context a"}).Get("data")
	if text := got.Get("context").Str; len(text) < 15_000 || !strings.HasSuffix(text, "line\n…") {
		t.Errorf("%d bytes are left of the text, which ends in %q", len(text), text[len(text)-10:])
	}
	if got.Get("next").Str != "leslie context a --full" || got.Get("truncated.0").Str != "context" {
		t.Errorf("data is %s", got.Raw[len(got.Raw)-200:])
	}
}

func TestBoundOfError(t *testing.T) {
	var children []string
	for i := range 5000 {
		children = append(children, fmt.Sprintf("thread-%d", i))
	}
	err := errcodes.ChildrenUnfinished.With("threadId", "p", "count", 5000, "children", children)
	got := bounded(t, response.Response{Err: err, Operation: "done", Command: "leslie done p", Suffix: " --root /x"}).Get("error")
	details := got.Get("details")
	if details.Get("count").Int() != 5000 || details.Get("omitted").Int()+int64(len(details.Get("children").Array())) != 5000 {
		t.Errorf("count %s, omitted %s, %d children", details.Get("count"), details.Get("omitted"), len(details.Get("children").Array()))
	}
	if next := details.Get("next").Raw; next != `["leslie list --parent p --root /x","leslie done p --full"]` {
		t.Errorf("next is %s", next)
	}
	if got.Get("message").Str != "Thread 'p' has 5000 unfinished children" {
		t.Errorf("message is %s", got.Get("message"))
	}
}

func TestBoundOfWarnings(t *testing.T) {
	var warnings errcodes.Warnings
	for i := range 1000 {
		warnings = append(warnings, errcodes.TargetUnresolved.Warn("target", fmt.Sprint("thread-", i)))
	}
	got := bounded(t, response.Response{Warnings: warnings})
	if shown := len(got.Get("warnings").Array()); got.Get("omitted").Int() != int64(1000-shown) || shown < 50 {
		t.Errorf("%d warnings, omitted %s", shown, got.Get("omitted"))
	}
}

// What nests lists deeper counts beside them.
func TestBoundOfNestedList(t *testing.T) {
	type node struct {
		ID       string   `json:"id"`
		Children []string `json:"children"`
	}
	n := node{ID: "p"}
	for i := range 5000 {
		n.Children = append(n.Children, fmt.Sprintf("thread-%d", i))
	}
	got := bounded(t, response.Response{Data: map[string]node{"thread": n}}).Get("data")
	if shown := len(got.Get("thread.children").Array()); shown < 500 || got.Get("thread.omitted").Int() != int64(5000-shown) || got.Get("truncated.0").Str != "thread.children" {
		t.Errorf("%d children, omitted %s, truncated %s", shown, got.Get("thread.omitted"), got.Get("truncated"))
	}
}

// repeated is a text that a failing test can print.
type repeated struct {
	Unit  string
	Times int
}

func (r repeated) String() string { return strings.Repeat(r.Unit, r.Times) }

// many is a list of equal elements that a failing test can print.
type many struct {
	Element any
	Times   int
}

func expand(v any) any {
	switch v := v.(type) {
	case repeated:
		return v.String()
	case many:
		list := make([]any, v.Times)
		for i := range list {
			list[i] = expand(v.Element)
		}
		return list
	case map[repeated]any:
		members := map[string]any{}
		for key, member := range v {
			members[key.String()] = expand(member)
		}
		return members
	}
	return v
}

func texts() *rapid.Generator[repeated] {
	return rapid.Custom(func(t *rapid.T) repeated {
		unit := rapid.SampledFrom([]string{"x", "\x01", "\"", "é", "😀", "\U000e0001", "\\", "\xff", " -- ", "'"})
		return repeated{unit.Draw(t, "unit"), rapid.SampledFrom([]int{1, 3, 40, 700, 30_000}).Draw(t, "times")}
	})
}

func values(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Int().AsAny(), texts().AsAny())
	if depth == 0 {
		return leaf
	}
	lists := rapid.Custom(func(t *rapid.T) any {
		return many{values(depth-1).Draw(t, "element"), rapid.SampledFrom([]int{0, 1, 3, 300}).Draw(t, "times")}
	})
	return rapid.OneOf(leaf, lists, rapid.MapOfN(texts(), values(depth-1), 0, 6).AsAny())
}

// Whatever an answer holds, it fits, and its code and what every error says survive.
func TestBoundHolds(t *testing.T) {
	names := rapid.SampledFrom([]string{"threads", "next", "omitted", "truncated", "count", "data", "error", "hint", "retryable", "operationId", "text"})
	rapid.Check(t, func(t *rapid.T) {
		data := map[string]any{}
		for name, value := range rapid.MapOfN(names, values(2), 0, 6).Draw(t, "data") {
			data[name] = expand(value)
		}
		data[texts().Draw(t, "key").String()] = 1
		command, operation := texts().Draw(t, "command").String(), texts().Draw(t, "operation").String()
		r := response.Response{Data: data, Command: "leslie " + command, Operation: operation, Suffix: " --root " + command}
		if rapid.Bool().Draw(t, "fails") {
			r.Err = errcodes.Usage.With(names.Draw(t, "detail"), expand(values(2).Draw(t, "value")), "problem", texts().Draw(t, "problem"), "operation", operation)
		}
		if rapid.Bool().Draw(t, "pages") {
			r.Before = func(id string) string { return "leslie list --before " + id }
		}
		for _, target := range rapid.SliceOfN(texts(), 0, 3).Draw(t, "targets") {
			r.Warnings = append(r.Warnings, errcodes.TargetUnresolved.Warn("target", target.String()))
		}
		got := bounded(t, r)
		if r.Err != nil && (got.Get("error.code").Str != "T903" || !got.Get("error.details.effect").Exists()) {
			t.Fatalf("the error is lost: %.300s", got.Raw)
		}
		if !got.Get("warnings").IsArray() {
			t.Fatalf("no warnings: %.300s", got.Raw)
		}
	})
}

func TestBoundOfManyMembers(t *testing.T) {
	data := map[string]any{}
	for i := range 30_000 {
		data[fmt.Sprintf("key-%d", i)] = i
	}
	got := bounded(t, response.Response{Data: data, Command: "leslie x"}).Get("data")
	if got.Get("next").Str != "leslie x --full" || got.Get("truncated.#").Int() != 21 || len(got.Map()) < 500 {
		t.Errorf("%d members, next %s, truncated %s", len(got.Map()), got.Get("next"), got.Get("truncated"))
	}
}
