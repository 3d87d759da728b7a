package response_test

import (
	"strings"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/response"
)

func TestGet(t *testing.T) {
	list := response.Response{Data: threads(2)}
	failed := response.Response{Err: errcodes.ThreadNotFound.With("threadId", "x"), Operation: "status"}
	conflict := response.Response{Data: map[string]any{"mergeId": "merge-1"}, Err: errcodes.MergeConflict.With("count", 1)}
	binary := response.Response{Data: map[string]any{"content": "AP8K", "encoding": "base64"}}
	warned := response.Response{Data: map[string]any{"success": "mine"}, Warnings: errcodes.Warnings{errcodes.TargetUnresolved.Warn("target", "x")}}
	for _, test := range []struct {
		name           string
		response       response.Response
		path, stdout   string
		stderrContains string // "" for an empty stderr
	}{
		{"string", list, "threads.0.id", "thread-0\n", ""},
		{"number", list, "count", "2\n", ""},
		{"count of a list", list, "threads.#", "2\n", ""},
		{"list", list, "threads.#.id", `["thread-0","thread-1"]` + "\n", ""},
		{"query", list, `threads.#(id=="thread-1").title`, "Thread number 1\n", ""},
		{"object", list, "threads.1", `{"id":"thread-1","status":"active","tags":["a","b c"],"title":"Thread number 1"}` + "\n", ""},
		{"empty string", response.Response{Data: thread{}}, "title", "\n", ""},
		{"empty list", response.Response{Data: thread{}}, "tags", "[]\n", ""},
		{"null", response.Response{Data: map[string]any{"x": []any{nil}}}, "x.0", "null\n", ""},
		{"boolean", list, "success", "true\n", ""},
		{"nothing there", list, "threads.7.id", "", "warning code=W903 "},
		{"no error", list, "error.code", "", "warning code=W903 "},
		{"error code", failed, "error.code", "T101\n", "error code=T101 "},
		{"error detail", failed, "error.details.threadId", "x\n", "error code=T101 "},
		{"success of a failure", failed, "success", "false\n", "error code=T101 "},
		{"no data", failed, "thread.id", "", "error code=T101 "},
		{"partial result", conflict, "mergeId", "merge-1\n", "error code=T301 "},
		{"not in a partial result", conflict, "count", "", "error code=T301 "},
		{"exact content", response.Response{Data: map[string]any{"content": "a\u2028\x00\n\nb"}}, "content", "a\u2028\x00\n\nb", ""},
		{"exact empty content", response.Response{Data: map[string]any{"content": ""}}, "content", "", ""},
		{"exact bytes", binary, "content", "\x00\xff\n", ""},
		{"merged text", response.Response{Data: map[string]any{"merged": "x"}}, "merged", "x", ""},
		{"merged list", response.Response{Data: map[string]any{"merged": []string{"x"}}}, "merged", `["x"]` + "\n", ""},
		{"content that is not there", list, "content", "", "warning code=W903 "},
		{"data first", warned, "success", "mine\n", "warning code=W202 "},
		{"warning", warned, "warnings.0.context.target", "x\n", "warning code=W202 "},
		{"strange path", list, `}{"\`, "", "warning code=W903 "},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, format := range []response.Format{response.JSON, response.Logfmt} {
				stdout, stderr := write(t, response.Output{Format: format, Get: test.path}, test.response)
				if stdout != test.stdout {
					t.Errorf("stdout is %q, want %q", stdout, test.stdout)
				}
				if !strings.HasPrefix(stderr, test.stderrContains) || (test.stderrContains == "") != (stderr == "") || strings.Count(stderr, "\n") > 1 {
					t.Errorf("stderr is %q", stderr)
				}
			}
		})
	}
	if len(list.Warnings) != 0 {
		t.Error("the caller's warnings were changed")
	}
}

// FuzzGet: no path, however strange, ends in a panic.
func FuzzGet(f *testing.F) {
	for _, seed := range []string{"threads.#.id", "@pretty:{", "#(", "{a,b", "..#", "@this|0", "[", `\`, "threads.#(id%\"*\")#|@reverse"} {
		f.Add(seed)
	}
	r := response.Response{Data: threads(2), Warnings: errcodes.Warnings{errcodes.TargetUnresolved.Warn("target", "x")}}
	f.Fuzz(func(t *testing.T, path string) {
		if path != "" {
			write(t, response.Output{Get: path}, r)
		}
	})
}
