package command

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// machine is where the tests run commands: a directory with a store, an
// environment, a stdin.
type machine struct {
	*testing.T
	root     string
	env      environment
	stdin    io.Reader
	commands commands
	signals  chan os.Signal
}

// result is what a command left behind.
type result struct {
	*testing.T
	status         int
	stdout, stderr string
}

func bare(t *testing.T) *machine {
	t.Helper()
	return &machine{
		T: t, root: t.TempDir(), stdin: strings.NewReader(""), commands: table, signals: make(chan os.Signal, 2),
	}
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := bare(t)
	m.ok("init")
	return m
}

// run runs a command line in the store of m.
func (m *machine) run(args ...string) result {
	m.Helper()
	var stdout, stderr bytes.Buffer
	p := &process{
		args: args, stdin: m.stdin, stdout: &stdout, stderr: &stderr,
		env: append(environment{"LESLIE_ROOT=" + m.root}, m.env...), commands: m.commands, signals: m.signals,
	}
	status := p.run()
	l := takeApart(args, m.commands.arity())
	if _, picked := l.last("get"); l.format() == formatJSON && !picked {
		m.fitsSchema(l, stdout.Bytes())
	}
	return result{m.T, status, stdout.String(), stderr.String()}
}

// fitsSchema checks an answer against the schema of its command.
func (m *machine) fitsSchema(l line, stdout []byte) {
	m.Helper()
	cmd, _ := m.commands.match(l.words)
	if help, _ := l.last("help"); cmd == nil || help != "" || cmd.data == nil {
		return
	}
	schema, err := schemaOf(cmd)
	if err != nil {
		m.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(stdout))
	if err == nil {
		err = schema.Validate(instance)
	}
	if err != nil {
		m.Errorf("leslie %s: the answer does not fit its schema: %v\n%s", cmd.name, err, stdout)
	}
}

// ok runs a command line as JSON, which has to succeed, and returns its data.
func (m *machine) ok(args ...string) map[string]any {
	m.Helper()
	r := m.run(append([]string{"--json"}, args...)...)
	response := r.response()
	if r.status != 0 || response["success"] != true {
		m.Fatalf("leslie %q: status %d: %s%s", args, r.status, r.stdout, r.stderr)
	}
	return response["data"].(map[string]any)
}

// fails runs a command line as JSON, which has to fail with code, and returns
// the details.
func (m *machine) fails(code string, status int, args ...string) map[string]any {
	m.Helper()
	r := m.run(append([]string{"--json"}, args...)...)
	response := r.response()
	failure, _ := response["error"].(map[string]any)
	if failure == nil || failure["code"] != code || r.status != status {
		m.Fatalf("leslie %q: status %d, want %s and %d: %s", args, r.status, code, status, r.stdout)
	}
	return failure["details"].(map[string]any)
}

// response checks that stdout is exactly one response, and stderr empty.
func (r result) response() map[string]any {
	r.Helper()
	if r.stderr != "" {
		r.Errorf("stderr of a JSON answer: %s", r.stderr)
	}
	if strings.Count(r.stdout, "\n") != 1 || !strings.HasSuffix(r.stdout, "\n") {
		r.Fatalf("not one line: %q", r.stdout)
	}
	if !strings.HasPrefix(r.stdout, `{"success":`) {
		r.Fatalf("success is not the first key: %s", r.stdout)
	}
	var response map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &response); err != nil {
		r.Fatalf("%v: %s", err, r.stdout)
	}
	return response
}

// spawn makes a thread and returns its id.
func (m *machine) spawn(args ...string) string {
	m.Helper()
	return m.ok(append([]string{"spawn", "--intent", "work"}, args...)...)["threadId"].(string)
}
