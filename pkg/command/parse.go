package command

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leslie-sh/leslie/errcodes"
)

// input is what a command was given: its flags as the parser read them, and
// its arguments.
type input struct {
	flags   *cli.Context
	cmd     *command
	unknown string // the first word of the line, where it names no command
	args    []string
}

// text returns the value of a flag, "" where it was not given.
func (in input) text(name string) string { return in.flags.String(name) }

// list returns the values of a flag that accumulates.
func (in input) list(name string) []string { return in.flags.StringSlice(name) }

// on reports whether a boolean flag was given.
func (in input) on(name string) bool { return in.flags.Bool(name) }

// number returns the value of a numeric flag, or otherwise where it was not given.
func (in input) number(name string, otherwise int) int {
	if !in.given(name) {
		return otherwise
	}
	return int(in.flags.Int64(name))
}

// given reports whether a flag stands on the line.
func (in input) given(name string) bool { return in.flags.IsSet(name) }

// arg returns the argument at position i, "" where it was not given.
func (in input) arg(i int) string {
	if i < len(in.args) {
		return in.args[i]
	}
	return ""
}

// parse reads the line as a call of one command. The command comes back also
// with an error, as far as it could be told.
func parse(cs commands, l line) (input, *errcodes.Error) {
	cmd, args := cs.match(l.words)
	if len(l.words) == 0 {
		cmd = cs.named("help")
	}
	in := input{cmd: cmd, args: args}
	// A flag that nobody knows may take a value: what follows it need not be
	// a command. What stands before it is meant as one.
	if cmd == nil && (l.problem == nil || l.began) {
		in.unknown = errcodes.Clip(visible(l.words[0]))
		return in, withUsage(unknownCommand(cs, l.words[0]), cs, in)
	}
	if l.problem != nil {
		return in, withUsage(l.problem, cs, in)
	}
	if help, _ := l.last("help"); help == "true" && len(l.words) > 0 {
		in = input{cmd: cs.named("help"), args: strings.Fields(cmd.name)}
		l.flags = onlyGlobal(l.flags)
	}
	for _, check := range []func(commands, input, line) *errcodes.Error{checkGroup, checkFlags, checkArgs, checkRequired} {
		if problem := check(cs, in, l); problem != nil {
			return in, withUsage(problem, cs, in)
		}
	}
	var err error
	if in.flags, err = readFlags(in.cmd, l.counting(in.cmd)); err != nil {
		return in, withUsage(usageError(errcodes.Clip(err.Error()), ""), cs, in)
	}
	return in, nil
}

// unknownCommand returns T903 for a first word that names no command.
func unknownCommand(cs commands, word string) *errcodes.Error {
	problem := unknownWord("command", word, cs.first())
	if near, found := problem.Detail("nearest").(string); found {
		return problem.Having("next", []string{"leslie " + near + " --help", "leslie help"})
	}
	return problem.Having("next", []string{"leslie help"})
}

// withUsage adds how the command is written.
func withUsage(problem *errcodes.Error, cs commands, in input) *errcodes.Error {
	usage := "leslie COMMAND [ARGUMENT]... [--flag]..."
	if in.cmd != nil && in.cmd.group {
		usage = "leslie " + in.cmd.name + " " + strings.Join(cs.under(in.cmd.name), "|")
	} else if in.cmd != nil {
		usage = in.cmd.usage()
	}
	return problem.Having("usage", usage)
}

// onlyGlobal leaves the flags that help takes too.
func onlyGlobal(flags []given) []given {
	var kept []given
	for _, f := range flags {
		for _, g := range globalFlags {
			if f.name == g.name && g.name != "help" {
				kept = append(kept, f)
			}
		}
	}
	return kept
}

// readFlags gives the flags of one line, in normal form, to the library that
// parses them. It sees the path of one command and nothing else of the table,
// with every hook set by which it would print or end the process itself.
// Arguments are kept from it: it takes one that is named like a flag for a
// subcommand.
func readFlags(cmd *command, flags []given) (*cli.Context, error) {
	var parsed *cli.Context
	words := strings.Fields(cmd.name)
	node := &cli.Command{Name: words[len(words)-1], Flags: cliFlags(cmd.accepted(), flags), Action: func(c *cli.Context) error {
		parsed = c
		return nil
	}}
	silence(node)
	for i := len(words) - 2; i >= 0; i-- {
		node = &cli.Command{Name: words[i], Subcommands: []*cli.Command{node}}
		silence(node)
	}
	argv := append([]string{"leslie"}, words...)
	for _, f := range flags {
		argv = append(argv, "--"+f.name+"="+f.value)
	}
	err := app(node).Run(argv)
	return parsed, err
}

func app(node *cli.Command) *cli.App {
	return &cli.App{
		Name: "leslie", Commands: []*cli.Command{node},
		HideHelp: true, HideVersion: true, Compiled: time.Unix(0, 0), DisableSliceFlagSeparator: true,
		Reader: strings.NewReader(""), Writer: io.Discard, ErrWriter: io.Discard,
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return err },
		CommandNotFound: func(*cli.Context, string) {},
		BashComplete:    func(*cli.Context) {},
	}
}

func silence(node *cli.Command) {
	node.HideHelp = true
	node.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return err }
	node.BashComplete = func(*cli.Context) {}
}

// cliFlags describes to the library the flags that are on the line.
func cliFlags(specs []flagSpec, onLine []given) []cli.Flag {
	var flags []cli.Flag
	for _, f := range specs {
		switch {
		case !slices.ContainsFunc(onLine, func(g given) bool { return g.name == f.name }):
		case f.kind == boolean:
			flags = append(flags, &cli.BoolFlag{Name: f.name})
		case f.kind == number:
			flags = append(flags, &cli.Int64Flag{Name: f.name})
		case f.repeat:
			flags = append(flags, &cli.StringSliceFlag{Name: f.name})
		default:
			flags = append(flags, &cli.StringFlag{Name: f.name})
		}
	}
	return flags
}
