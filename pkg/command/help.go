package command

import (
	"fmt"
	"strings"
)

var helpCommand = &command{
	name:      "help",
	summary:   "show all commands, or one of them",
	args:      []argSpec{{name: "COMMAND", optional: true, many: true}},
	text:      "help",
	data:      helpData{},
	unbounded: true,
	run:       runHelp,
}

type helpData struct {
	Help    string `json:"help"`
	Command string `json:"command,omitempty"`
	Usage   string `json:"usage"`
}

func runHelp(c *call) (any, error) {
	if len(c.args) == 0 {
		return helpData{Help: overview(c.commands), Usage: "leslie COMMAND [ARGUMENT]... [--flag]..."}, nil
	}
	cmd, rest := c.commands.match(c.args)
	if cmd == nil {
		return nil, unknownWord("command", c.args[0], c.commands.first())
	}
	if second := c.commands.under(cmd.name); len(rest) > 0 && len(second) > 0 {
		return nil, unknownWord(cmd.name+" command", rest[0], second)
	}
	if len(rest) > 0 {
		return nil, c.noSuch("help takes the words of one command", rest[0])
	}
	return helpData{Help: page(c.commands, cmd), Command: cmd.name, Usage: cmd.usage()}, nil
}

// overview is the page that bare leslie shows.
func overview(cs commands) string {
	var text strings.Builder
	text.WriteString("leslie gives every piece of parallel work a thread and answers every command with one coded response.\n\n")
	text.WriteString("usage: leslie COMMAND [ARGUMENT]... [--flag]...\n\ncommands:\n")
	for _, cmd := range cs {
		if !cmd.group {
			fmt.Fprintf(&text, "  %-20s %s\n", cmd.name, cmd.summary)
		}
	}
	text.WriteString("\nflags of every command:\n")
	writeFlags(&text, append([]flagSpec{dryRunFlag}, globalFlags...))
	text.WriteString("\nleslie COMMAND --help tells more of one command, leslie explain CODE of one code.\n")
	return text.String()
}

// page is the help of one command.
func page(cs commands, cmd *command) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s\n\n", cmd.name, cmd.summary)
	if !cmd.group {
		fmt.Fprintf(&text, "usage: %s\n", cmd.usage())
	}
	if second := cs.under(cmd.name); len(second) > 0 {
		text.WriteString("\ncommands:\n")
		for _, word := range second {
			fmt.Fprintf(&text, "  %-20s %s\n", cmd.name+" "+word, cs.named(cmd.name+" "+word).summary)
		}
	}
	if cmd.writes || len(cmd.flags) > 0 {
		text.WriteString("\nflags:\n")
		flags := cmd.accepted()
		writeFlags(&text, flags[:len(flags)-inherited(cmd)])
	}
	text.WriteString("\nleslie help shows the flags that every command takes.\n")
	return text.String()
}

// inherited counts the global flags that cmd takes.
func inherited(cmd *command) int {
	n := 0
	for _, f := range globalFlags {
		if cmd.own(f.name) == nil {
			n++
		}
	}
	return n
}

func writeFlags(text *strings.Builder, flags []flagSpec) {
	for _, f := range flags {
		summary := f.summary
		if f.repeat {
			summary += "; repeatable"
		}
		if f.env != "" {
			summary += " [" + f.env + "]"
		}
		fmt.Fprintf(text, "  %-34s %s\n", f.written(), summary)
	}
}
