package command

import (
	"strconv"
	"strings"
)

// The formats of a response.
const (
	formatJSON   = "json"
	formatLogfmt = "logfmt"
)

// globalFlags are taken by every command, anywhere on the line.
var globalFlags = []flagSpec{
	{name: "format", kind: choice, allowed: []string{formatJSON, formatLogfmt}, summary: "how the answer is written", env: "LESLIE_FORMAT"},
	{name: "json", kind: boolean, summary: "short for --format json"},
	{name: "get", value: "PATH", summary: "print one value of the answer, raw"},
	{name: "full", kind: boolean, summary: "leave nothing out of a long answer"},
	{name: "root", value: "DIR", summary: "the directory that holds .leslie", env: "LESLIE_ROOT"},
	{name: "thread", value: "ID", kind: ident, summary: "the thread that is meant where none is named", env: "LESLIE_THREAD"},
	{name: "as", value: "NAME", kind: caller, summary: "who calls", env: "LESLIE_AS"},
	{name: "token", value: "N", kind: number, min: 0, max: 1<<63 - 1, summary: "the token of a claim", env: "LESLIE_TOKEN"},
	{name: "operator", kind: choice, allowed: []string{"user", "agent", "system"}, summary: "what kind of caller", env: "LESLIE_OPERATOR"},
	{name: "debug", kind: boolean, summary: "tell on stderr what is done", env: "LESLIE_DEBUG"},
	{name: "retry-attempts", value: "N", kind: number, min: 1, max: 10, summary: "how often a busy lock is tried", env: "LESLIE_RETRY_ATTEMPTS"},
	{name: "no-color", kind: boolean, summary: "no colour"},
	{name: "help", kind: boolean, summary: "show this"},
}

// dryRunFlag is taken by every command that writes.
var dryRunFlag = flagSpec{name: "dry-run", kind: boolean, summary: "say what would happen, change nothing"}

// environmentFlags are the flags that a variable can serve for, and the one
// variable that only spawn reads.
var environmentFlags = append(served(globalFlags), flagSpec{name: "objective", kind: ident, env: "LESLIE_OBJECTIVE"})

func served(flags []flagSpec) []flagSpec {
	var with []flagSpec
	for _, f := range flags {
		if f.env != "" {
			with = append(with, f)
		}
	}
	return with
}

// environment is what the process was started with.
type environment []string

// value returns the variable called name; an empty one counts as not set.
func (e environment) value(name string) string {
	for _, pair := range e {
		if key, value, found := strings.Cut(pair, "="); found && key == name {
			return value
		}
	}
	return ""
}

// globals are the settings that every command shares, from the line or else
// from the environment.
type globals struct {
	full, debug, noColor, dryRun bool
	root                         string
	rootFlag                     string // --root as it was given on the line
	formatFlag                   string // the flag of the format as it was given on the line
	thread, as, operator         string
	token                        int64
	attempts                     int
}

// globalsOf gathers the settings from the line and the environment. It also
// serves a line that is wrong, whose answer and log entry need some of them.
func globalsOf(l line, cmd *command, env environment) globals {
	from := func(name string) string { return setting(l, cmd, env, name) }
	g := globals{
		full:    truth(from("full")),
		debug:   truth(from("debug")),
		noColor: truth(from("no-color")) || env.value("NO_COLOR") != "",
		dryRun:  truth(from(dryRunFlag.name)),
		root:    from("root"),
		thread:  from("thread"), as: from("as"), operator: from("operator"),
	}
	g.rootFlag, _ = l.last("root")
	g.formatFlag = l.formatFlag()
	g.token, _ = strconv.ParseInt(from("token"), 10, 64)
	g.attempts, _ = strconv.Atoi(from("retry-attempts"))
	return g
}

// setting returns the value of a global flag, or that of its variable. A
// command's own flag of that name is not the global one.
func setting(l line, cmd *command, env environment, name string) string {
	if cmd == nil || cmd.own(name) == nil {
		if value, given := l.last(name); given {
			return value
		}
	}
	if f := find(globalFlags, name); f != nil && f.env != "" {
		return env.value(f.env)
	}
	return ""
}

func truth(value string) bool {
	on, err := strconv.ParseBool(value)
	return err == nil && on
}
