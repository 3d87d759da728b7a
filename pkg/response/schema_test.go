package response_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/response"
)

// branch contains itself.
type branch struct {
	ID       string    `json:"id"`
	Branches []*branch `json:"branches"`
}

type everything struct {
	stamp
	Threads []shape          `json:"threads"`
	Tree    branch           `json:"tree"`
	Since   *time.Time       `json:"since"`
	Share   float64          `json:"share"`
	Bytes   []byte           `json:"bytes"`
	Size    uint64           `json:"size"`
	Code    errcodes.Code    `json:"code"`
	Extra   json.RawMessage  `json:"extra"`
	Sizes   map[string]int64 `json:"sizes"`
	Number  json.Number      `json:"number"`
}

func compile(t *testing.T, data any) *jsonschema.Schema {
	t.Helper()
	encoded, err := json.Marshal(response.Schema(data))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("response.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("response.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func valid(t *testing.T, schema *jsonschema.Schema, line string) error {
	t.Helper()
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(instance)
}

func TestSchema(t *testing.T) {
	schema := compile(t, everything{})
	whole := everything{Threads: []shape{{ID: "a", Any: 1}}, Tree: branch{ID: "r", Branches: []*branch{{ID: "b"}}}, Code: errcodes.NoStore, Extra: json.RawMessage(`[1]`), Number: "1.5"}
	long := whole
	for range 2000 {
		long.Threads = append(long.Threads, shape{ID: "a", Children: []string{"x"}})
	}
	locked := errcodes.LockFailed.With("attempts", 10, "waited", "21.3s")
	for name, r := range map[string]response.Response{
		"success": {Data: whole}, "pointer": {Data: &whole}, "bounded": {Data: long, Command: "leslie x"},
		"warning": {Data: whole, Warnings: errcodes.Warnings{errcodes.TargetUnresolved.Warn("target", "x")}},
		"failure": {Err: locked, Operation: "spawn"}, "partial result": {Err: locked, Data: whole, Operation: "spawn"},
	} {
		if err := valid(t, schema, string(r.JSON())); err != nil {
			t.Errorf("%s: %v\n%.300s", name, err, r.JSON())
		}
	}
	right := line(response.Response{Data: whole})
	wrong := line(response.Response{Err: locked, Operation: "spawn"})
	for name, bad := range map[string]string{
		"no data": `{"success":true,"warnings":[]}`, "data of another type": `{"success":true,"data":{},"warnings":[]}`,
		"null":               strings.Replace(right, `"children":[]`, `"children":null`, 1),
		"no id in the tree":  strings.Replace(right, `{"id":"b",`, `{`, 1),
		"time":               strings.Replace(right, `"at":"0001-01-01T00:00:00Z"`, `"at":"yesterday"`, 1),
		"success with error": strings.Replace(right, `"warnings":`, `"error":{},"warnings":`, 1),
		"no warnings":        strings.Replace(right, `,"warnings":[]`, ``, 1),
		"negative size":      strings.Replace(right, `"size":0`, `"size":-1`, 1),
		"code":               strings.Replace(wrong, `"T501"`, `"X501"`, 1),
		"no hint":            strings.Replace(wrong, `"hint"`, `"tip"`, 1),
		"no effect":          strings.Replace(wrong, `"effect"`, `"result"`, 1),
		"unknown effect":     strings.Replace(wrong, `"effect":"none"`, `"effect":"some"`, 1),
	} {
		if bad == right || bad == wrong {
			t.Fatalf("%s: the example was not changed", name)
		}
		if valid(t, schema, bad) == nil {
			t.Errorf("%s is valid: %s", name, bad)
		}
	}
}

func TestSchemaOfAnyData(t *testing.T) {
	schema := compile(t, nil)
	if err := valid(t, schema, line(response.Response{Data: map[string]any{"x": 1}})); err != nil {
		t.Error(err)
	}
	if valid(t, schema, `{"success":true,"data":[],"warnings":[]}`) == nil {
		t.Error("data that is no object is valid")
	}
}
