package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/response"
)

var (
	compiled      = map[string]*jsonschema.Schema{}
	compiledGuard sync.Mutex
)

// schemaOf returns the schema of the answers to cmd; nil stands for no
// command in particular.
func schemaOf(cmd *command) (*jsonschema.Schema, error) {
	name, data := "", any(nil)
	if cmd != nil {
		name, data = cmd.name, cmd.data
	}
	compiledGuard.Lock()
	defer compiledGuard.Unlock()
	if schema := compiled[name]; schema != nil {
		return schema, nil
	}
	encoded, err := json.Marshal(response.Schema(data))
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("response.json", document); err != nil {
		return nil, err
	}
	schema, err := compiler.Compile("response.json")
	compiled[name] = schema
	return schema, err
}

// commandOf returns the command whose data a line is answered with.
func commandOf(cs commands, args []string) *command {
	l := takeApart(args, cs.arity())
	cmd, _ := cs.match(l.words)
	if help, _ := l.last("help"); help == "true" || len(l.words) == 0 {
		return cs.named("help")
	}
	return cmd
}

// longestAnswer is the number of bytes of a JSON answer that nobody asked to be full.
const longestAnswer = 20 << 10

// checkResponse says what is wrong with the answer to a line, nil when it is
// exactly one good response.
func checkResponse(args []string, status int, stdout, stderr string) error {
	if stderr != "" {
		return fmt.Errorf("stderr of a JSON answer is not empty: %s", stderr)
	}
	if strings.Count(stdout, "\n") != 1 || !strings.HasSuffix(stdout, "\n") || !strings.HasPrefix(stdout, `{"success":`) {
		return fmt.Errorf("stdout is not one line that begins with success: %q", stdout)
	}
	cmd := commandOf(append(commands{panicky}, table...), args)
	schema, err := schemaOf(cmd)
	if err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout))
	if err != nil {
		return err
	}
	if err := schema.Validate(instance); err != nil {
		return fmt.Errorf("the answer does not fit its schema: %w", err)
	}
	if unbounded := cmd != nil && cmd.unbounded || slices.Contains(args, "--full"); len(stdout) > longestAnswer && !unbounded {
		return fmt.Errorf("the answer has %d bytes", len(stdout))
	}
	answer := gjson.Parse(stdout)
	for _, warning := range answer.Get("warnings").Array() {
		if err := checkFacts(warning.Get("code").Str, warning.Get("context"), nil); err != nil {
			return err
		}
	}
	if answer.Get("success").Bool() {
		if status != 0 {
			return fmt.Errorf("success with exit status %d", status)
		}
		return nil
	}
	return checkFailure(answer.Get("error"), status)
}

// usualDetails are those that any error may have beside the fields of its code.
var usualDetails = []string{
	"hint", "retryable", "retry", "retryAfterMs", "effect", "operation", "userMessage", "next", "attempts", "waited", "omitted", "truncated",
}

func checkFailure(failure gjson.Result, status int) error {
	code := errcodes.Code(failure.Get("code").Str)
	want := code.ExitStatus()
	if code == errcodes.Interrupted {
		want = signalNames[failure.Get("details.signal").Str]
	}
	if status != want {
		return fmt.Errorf("%s with exit status %d, want %d", code, status, want)
	}
	for _, name := range []string{"hint", "effect", "operation"} {
		if name != "operation" && failure.Get("details."+name).Str == "" {
			return fmt.Errorf("%s without %s: %s", code, name, failure.Raw)
		}
		if !failure.Get("details." + name).Exists() {
			return fmt.Errorf("%s without %s: %s", code, name, failure.Raw)
		}
	}
	if !failure.Get("details.retryable").IsBool() {
		return fmt.Errorf("%s does not say whether it is retryable", code)
	}
	return checkFacts(string(code), failure.Get("details"), usualDetails)
}

// checkFacts says which fact is none that the catalogue promises for the
// code, or is of another type.
func checkFacts(name string, facts gjson.Result, usual []string) error {
	code := errcodes.Code(name)
	if !code.Known() {
		return fmt.Errorf("%s is not in the catalogue", name)
	}
	var problems []error
	facts.ForEach(func(key, value gjson.Result) bool {
		declared := slices.IndexFunc(code.Entry().Details, func(f errcodes.Field) bool { return f.Name == key.Str })
		switch {
		case declared >= 0:
			if kind := code.Entry().Details[declared].Type; !fits(kind, value) {
				problems = append(problems, fmt.Errorf("%s says that %s is %s, and it is %s", name, key.Str, kind, value.Raw))
			}
		case !slices.Contains(usual, key.Str):
			problems = append(problems, fmt.Errorf("%s does not declare %s=%s", name, key.Str, value.Raw))
		}
		return true
	})
	return errors.Join(problems...)
}

// fits reports whether a value is of a type as the catalogue names it.
func fits(kind string, value gjson.Result) bool {
	switch element, isList := strings.CutSuffix(kind, "[]"); {
	case isList:
		return value.IsArray() && !slices.ContainsFunc(value.Array(), func(v gjson.Result) bool { return !fits(element, v) })
	case kind == "string":
		return value.Type == gjson.String
	case kind == "boolean":
		return value.IsBool()
	case kind == "integer":
		return value.Type == gjson.Number && !strings.ContainsAny(value.Raw, ".eE")
	default:
		return value.IsObject()
	}
}
