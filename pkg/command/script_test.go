package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leslie-sh/leslie/errcodes"
)

// The scripts under testdata/script and testdata/codes run leslie as a real
// process: the test binary under the name of leslie. Beside the verbs of
// testscript (exec, stdin, stdout, stderr, exists, cmp, env, ...) they have:
//
//	exits STATUS PROGRAM ARGS...  run it; it ends with exactly this status
//	response                stdout is exactly one JSON response that fits the
//	                        schema of its command and the catalogue, and stderr
//	                        is empty
//	response last           the same of the last line only: of a stream
//	json PATH VALUE         the value at a gjson path of stdout is VALUE
//	json PATH ~ REGEXP      it matches
//	nojson PATH             there is none
//	keep NAME PATH          put the value at PATH into the variable NAME
//	next N                  run the N-th command of the latest failure's
//	                        details.next in a shell; it ends with status 0
//	more                    run data.next of stdout, as JSON
//	inlogfmt                run the latest failing command as logfmt: the same
//	                        status, nothing on stdout, and on stderr one line
//	                        that parses back to the same error
//	roundtrip leslie ARGS...  what it answers as logfmt parses back to what it
//	                        answers as JSON
//	remember, unchanged     the files of the store, all but its logs and its
//	                        lock, are the same as when they were remembered
//	hold, unhold            another process takes the store's lock, until unhold
//	killed N PROGRAM ARGS...  start it N times, each with a number in place of
//	                        {n}, and kill it at a random moment; the file
//	                        acknowledged gets the threadId of every answer
//	damage FILE HOW         garbage, empty, truncate, zero, flip (a byte in the
//	                        middle) or remove; FILE is a path or a pattern
//	absent PATH...          nothing is there, not even a dangling link
//
// and these programs, which exist in the tests alone:
//
//	leslie-faulty KIND[:N] ARGS...  leslie whose N-th system call of a kind
//	                        fails, or every one: see failing
//	leslie-extra ARGS...    leslie with one more command, panicky
//	leslie-signalled INT|TERM ARGS...  leslie with a stdin that has no end,
//	                        which gets the signal when it reads or has begun to answer
//
// The variables ESC, BIDI, BAD_UTF8, NEWLINE and LONG hold what is hard to
// write: an escape character, a bidirectional override, a byte that is not
// UTF-8, a newline, 100,000 characters.

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"leslie":           func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())) },
		"leslie-faulty":    runFaulty,
		"leslie-extra":     runExtra,
		"leslie-signalled": runSignalled,
		holderProgram:      runHolder,
		crashingProgram:    runCrashing,
	})
}

func TestScripts(t *testing.T) { runScripts(t, "../../testdata/script") }

func TestCodes(t *testing.T) { runScripts(t, codeScripts) }

const codeScripts = "../../testdata/codes"

func runScripts(t *testing.T, dir string) {
	wholeProcesses(t)
	testscript.Run(t, testscript.Params{
		Dir: dir, Setup: setUpScript, RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": verb(exits), "response": verb(isResponse), "json": verb(hasJSON), "nojson": verb(hasNoJSON), "keep": verb(keep),
			"next": verb(next), "more": verb(more), "inlogfmt": verb(inLogfmt), "roundtrip": verb(roundTrip),
			"remember": verb(remember), "unchanged": verb(unchanged), "hold": verb(hold), "unhold": verb(unhold),
			"killed": verb(killed), "damage": verb(damage), "absent": verb(absent),
		},
	})
}

// wholeProcesses leaves a test out of the short form, which runs under the
// race detector: it sees nothing across processes, and slows their start.
func wholeProcesses(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs whole processes")
	}
}

func setUpScript(env *testscript.Env) error {
	env.Values[sceneKey{}] = &scene{}
	env.Setenv("ESC", "\x1b")
	env.Setenv("BIDI", "\u202e")
	env.Setenv("BAD_UTF8", "\xff")
	env.Setenv("NEWLINE", "\n")
	env.Setenv("LONG", strings.Repeat("x", 100_000))
	return nil
}

type sceneKey struct{}

// scene is what the verbs of one script remember.
type scene struct {
	words      []string // the line of the latest leslie
	args       []string // the same without its name
	status     int
	failure    string            // the latest error that was checked, as JSON
	failed     []string          // the line that gave it
	failedWith int               // its exit status
	files      map[string]string // the store as it was remembered
	release    func() error      // ends the process that holds the lock
}

func sceneOf(ts *testscript.TestScript) *scene { return ts.Value(sceneKey{}).(*scene) }

// verb adapts a function that returns what is wrong. No verb can be negated.
func verb(do func(*testscript.TestScript, *scene, []string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, negated bool, args []string) {
		if negated {
			ts.Fatalf("this verb cannot be negated")
		}
		if err := do(ts, sceneOf(ts), args); err != nil {
			ts.Fatalf("%v", err)
		}
	}
}

// provoked lists the codes that a command line can provoke today.
var provoked = []errcodes.Code{
	"T101", "T102", "T103", "T104", "T110", "T201", "T202", "T203", "T204",
	"T501", "T502", "T503", "T504", "T505", "T506", "T507", "T508", "T601", "T602", "T603", "T604", "T901", "T903", "T904",
	"W104", "W105", "W110", "W202", "W502", "W503", "W509", "W903",
}

// TestCodesHaveScripts holds that every code that can be provoked has a
// script that does, and that every script is one of a code of the catalogue.
func TestCodesHaveScripts(t *testing.T) {
	for _, code := range provoked {
		script, err := os.ReadFile(filepath.Join(codeScripts, string(code)+".txtar"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, needed := range []string{
			fmt.Sprintf(`(?m)^json \S*code %s$`, code), `(?m)^response$`, fmt.Sprintf(`(?m)^inlogfmt$|^stderr .*code=%s `, code),
		} {
			if !regexp.MustCompile(needed).Match(script) {
				t.Errorf("the script of %s has no line that matches %s", code, needed)
			}
		}
	}
	found, err := filepath.Glob(filepath.Join(codeScripts, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if code := errcodes.Code(strings.TrimSuffix(filepath.Base(path), ".txtar")); !code.Known() {
			t.Errorf("%s is no script of a code", path)
		}
	}
}
