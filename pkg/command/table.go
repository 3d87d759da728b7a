package command

import (
	"slices"
	"strings"
)

// kind says what a value on the line must be.
type kind int

const (
	free    kind = iota // any text, taken as it is
	boolean             // present or not
	number              // an integer within min and max
	choice              // one of allowed
	ident               // an id: [A-Za-z0-9][A-Za-z0-9_-]{0,63}
	caller              // the name of who calls
)

// flagSpec describes one flag of a command.
type flagSpec struct {
	name     string
	value    string // what help calls its value; "" for a boolean
	summary  string
	kind     kind
	allowed  []string // the values of a choice
	min, max int64    // the bounds of a number
	repeat   bool     // whether it may be given more than once and accumulates
	required bool     // whether the command cannot do without it
	env      string   // the variable that serves where the flag is not given
}

// argSpec describes one positional argument of a command.
type argSpec struct {
	name     string
	kind     kind
	allowed  []string
	optional bool
	many     bool // whether it takes all that follow
	thread   bool // whether --thread serves where it is not given
}

// command describes one command: all that the parser, the help, the
// completion scripts and the schema know of it.
type command struct {
	name    string // its words: "objective create"
	summary string
	args    []argSpec
	flags   []flagSpec
	writes  bool   // whether it takes --dry-run and answers with an operationId
	group   bool   // whether its first word needs a second one
	text    string // the key of data that logfmt prints as plain text
	data    any    // a zero value of its data, for the schema

	waits     bool // whether it may wait for a caller's stream
	unbounded bool // whether its answer may pass 20 KB
	run       func(*call) (any, error)
}

// table holds every command, in the order in which help shows them.
var table = []*command{
	initCommand,
	objectiveCommand, objectiveCreateCommand, objectiveListCommand, objectiveStatusCommand, objectiveCompleteCommand,
	spawnCommand, listCommand, statusCommand,
	lifecycleCommand, doneCommand, failCommand, cancelCommand, suspendCommand, resumeCommand, reopenCommand, archiveCommand,
	treeCommand, graphCommand, contextCommand,
	referenceCommand, referenceListCommand, referenceRefreshCommand, referenceRemoveCommand, referenceResolveCommand,
	artifactCommand, artifactListCommand, artifactPutCommand, artifactGetCommand, artifactRemoveCommand,
	injectCommand, logCommand, logsCommand, doctorCommand,
	explainCommand, codesCommand, schemaCommand,
	completionCommand, versionCommand, helpCommand,
}

// commands is a table with what can be asked of it.
type commands []*command

// named returns the command of exactly these words, or nil.
func (cs commands) named(name string) *command {
	for _, c := range cs {
		if c.name == name {
			return c
		}
	}
	return nil
}

// match finds the command at the head of words and returns it with the words
// that are left for its arguments; nil when the first word names none.
func (cs commands) match(words []string) (*command, []string) {
	if len(words) > 1 {
		if c := cs.named(words[0] + " " + words[1]); c != nil {
			return c, words[2:]
		}
	}
	if len(words) > 0 {
		if c := cs.named(words[0]); c != nil {
			return c, words[1:]
		}
	}
	return nil, words
}

// under returns the second words that may follow name.
func (cs commands) under(name string) []string {
	var words []string
	for _, c := range cs {
		if head, tail, found := strings.Cut(c.name, " "); found && head == name {
			words = append(words, tail)
		}
	}
	return words
}

// first returns the words that a line may begin with.
func (cs commands) first() []string {
	var words []string
	for _, c := range cs {
		if !strings.Contains(c.name, " ") {
			words = append(words, c.name)
		}
	}
	return words
}

// arity says for every flag that exists, of whatever command, whether it
// takes a value: the line is taken apart before its command is known, so a
// name has to mean the same everywhere.
func (cs commands) arity() map[string]bool {
	takes := make(map[string]bool, 64)
	for _, f := range globalFlags {
		takes[f.name] = f.kind != boolean
	}
	takes[dryRunFlag.name] = false
	for _, c := range cs {
		for _, f := range c.flags {
			takes[f.name] = f.kind != boolean
		}
	}
	return takes
}

// accepted returns the flags that c takes: its own first, then those that
// every command takes. One of its own hides a global one of that name.
func (c *command) accepted() []flagSpec {
	all := slices.Clone(c.flags)
	if c.writes {
		all = append(all, dryRunFlag)
	}
	for _, f := range globalFlags {
		if c.own(f.name) == nil {
			all = append(all, f)
		}
	}
	return all
}

// own returns c's own flag of that name, or nil.
func (c *command) own(name string) *flagSpec {
	for i := range c.flags {
		if c.flags[i].name == name {
			return &c.flags[i]
		}
	}
	return nil
}

// usage returns the one line that shows how c is written.
func (c *command) usage() string {
	var line strings.Builder
	line.WriteString("leslie " + c.name)
	for _, a := range c.args {
		line.WriteString(" " + a.usage())
	}
	for _, f := range c.flags {
		line.WriteString(" " + f.usage())
	}
	if c.writes {
		line.WriteString(" [--dry-run]")
	}
	return line.String()
}

func (a argSpec) usage() string {
	name := a.name
	if len(a.allowed) > 0 {
		name = strings.Join(a.allowed, "|")
	}
	if a.many {
		name += "..."
	}
	if a.optional {
		return "[" + name + "]"
	}
	return name
}

func (f flagSpec) usage() string {
	text := "[" + f.written() + "]"
	if f.required {
		text = f.written()
	}
	if f.repeat {
		text += "..."
	}
	return text
}

// written returns the flag with what stands for its value.
func (f flagSpec) written() string {
	switch {
	case f.kind == boolean:
		return "--" + f.name
	case len(f.allowed) > 0:
		return "--" + f.name + " " + strings.Join(f.allowed, "|")
	default:
		return "--" + f.name + " " + f.value
	}
}
