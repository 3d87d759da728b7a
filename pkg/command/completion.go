package command

import (
	"fmt"
	"slices"
	"strings"
)

var completionCommand = &command{
	name:      "completion",
	summary:   "a script that completes leslie's words in a shell",
	args:      []argSpec{{name: "SHELL", kind: choice, allowed: []string{"bash", "zsh", "fish"}}},
	text:      "script",
	unbounded: true,
	data:      completionData{},
	run:       runCompletion,
}

type completionData struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

func runCompletion(c *call) (any, error) {
	script := map[string]func(commands) string{"bash": bash, "zsh": zsh, "fish": fish}[c.arg(0)]
	return completionData{c.arg(0), script(c.commands)}, nil
}

// completions returns what may follow a command on the line: second words, flags,
// and the values of an argument that has few.
func completions(cs commands, cmd *command) []string {
	words := cs.under(cmd.name)
	for _, a := range cmd.args {
		words = append(words, a.allowed...)
	}
	for _, f := range cmd.accepted() {
		words = append(words, "--"+f.name)
	}
	return words
}

// choices returns the values of every flag that has few. Two commands can give
// one name different values; then all of them are offered.
func choices(cs commands) ([]string, map[string][]string) {
	values := map[string][]string{}
	var names []string
	collect := func(flags []flagSpec) {
		for _, f := range flags {
			if len(f.allowed) > 0 && values[f.name] == nil {
				names = append(names, f.name)
			}
			for _, value := range f.allowed {
				if !slices.Contains(values[f.name], value) {
					values[f.name] = append(values[f.name], value)
				}
			}
		}
	}
	collect(globalFlags)
	for _, cmd := range cs {
		collect(cmd.flags)
	}
	return names, values
}

// shellCases writes the two tables that the scripts for bash and zsh share:
// what follows a flag, and what follows a command.
func shellCases(cs commands) string {
	var text strings.Builder
	names, values := choices(cs)
	text.WriteString("  case \"$prev\" in\n")
	for _, name := range names {
		fmt.Fprintf(&text, "    --%s) offer=\"%s\" ;;\n", name, strings.Join(values[name], " "))
	}
	text.WriteString("    *)\n      case \"$command\" in\n")
	for _, cmd := range cs {
		fmt.Fprintf(&text, "        \"%s\") offer=\"%s\" ;;\n", cmd.name, strings.Join(completions(cs, cmd), " "))
	}
	fmt.Fprintf(&text, "        *) offer=\"%s\" ;;\n      esac ;;\n  esac\n", strings.Join(cs.first(), " "))
	return text.String()
}

// findCommand tells a shell function which command the words before the
// cursor name: the longest of one or two words that is one.
const findCommand = `  for word in %s; do
    case "$word" in
      -*) ;;
      *)
        case " $known " in
          *" $command/$word "*) command="$command $word" ;;
          *" $word "*) [ -z "$command" ] && command="$word" ;;
        esac ;;
    esac
  done
`

func knownWords(cs commands) string {
	var words []string
	for _, cmd := range cs {
		words = append(words, strings.ReplaceAll(cmd.name, " ", "/"))
	}
	return strings.Join(words, " ")
}

func bash(cs commands) string {
	return "_leslie() {\n  local word command= offer= known=\"" + knownWords(cs) + "\"\n" +
		"  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n" +
		fmt.Sprintf(findCommand, `"${COMP_WORDS[@]:1:COMP_CWORD-1}"`) + shellCases(cs) +
		"  COMPREPLY=($(compgen -W \"$offer\" -- \"$cur\"))\n" +
		"  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$cur\"))\n}\ncomplete -F _leslie leslie\n"
}

func zsh(cs commands) string {
	return "#compdef leslie\n_leslie() {\n  local word command= offer= known=\"" + knownWords(cs) + "\"\n" +
		"  local prev=\"${words[CURRENT-1]}\"\n" +
		"  local -a before; before=(\"${(@)words[2,CURRENT-1]}\")\n" +
		fmt.Sprintf(findCommand, `"${before[@]}"`) + shellCases(cs) +
		"  compadd -- ${=offer}\n}\ncompdef _leslie leslie\n"
}

func fish(cs commands) string {
	var text strings.Builder
	text.WriteString("complete -c leslie -f\n")
	for _, cmd := range cs {
		first, second, nested := strings.Cut(cmd.name, " ")
		condition, word := "__fish_use_subcommand", first
		if nested {
			condition, word = "__fish_seen_subcommand_from "+first, second
		}
		fmt.Fprintf(&text, "complete -c leslie -n '%s' -a %s -d '%s'\n", condition, word, fishQuote(cmd.summary))
		for _, a := range cmd.args {
			if len(a.allowed) > 0 {
				fmt.Fprintf(&text, "complete -c leslie -n '__fish_seen_subcommand_from %s' -a '%s'\n", word, strings.Join(a.allowed, " "))
			}
		}
		for _, f := range cmd.flags {
			fishFlag(&text, "__fish_seen_subcommand_from "+word, f)
		}
	}
	for _, f := range append([]flagSpec{dryRunFlag}, globalFlags...) {
		fishFlag(&text, "", f)
	}
	return text.String()
}

func fishFlag(text *strings.Builder, condition string, f flagSpec) {
	text.WriteString("complete -c leslie")
	if condition != "" {
		fmt.Fprintf(text, " -n '%s'", condition)
	}
	fmt.Fprintf(text, " -l %s -d '%s'", f.name, fishQuote(f.summary))
	switch {
	case len(f.allowed) > 0:
		fmt.Fprintf(text, " -x -a '%s'", strings.Join(f.allowed, " "))
	case f.kind != boolean:
		text.WriteString(" -r -F")
	}
	text.WriteString("\n")
}

func fishQuote(text string) string {
	return strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text)
}
