package command

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leslie-sh/leslie/errcodes"
)

// line is a command line taken apart. Flags may stand anywhere until "--", so
// its words (the command and its arguments) are what remains when they are
// taken out.
type line struct {
	words   []string
	flags   []given
	problem *errcodes.Error // the first thing that is wrong with it
	began   bool            // whether a word stood before that
}

// given is one flag as it stands on the line.
type given struct {
	name, value string
}

// takeApart reads args from left to right. arity says which flags take a
// value; such a flag takes the next argument whatever it looks like, unless
// that is exactly a flag that exists, or "--": then its value is missing. The
// reading goes on behind a mistake, because what follows may say how the
// answer is to be written.
func takeApart(args []string, arity map[string]bool) line {
	var l line
	for i := 0; i < len(args); i++ {
		arg := args[i]
		l.checkText(arg)
		switch {
		case arg == "--":
			for _, word := range args[i+1:] {
				l.checkText(word)
			}
			l.words = append(l.words, args[i+1:]...)
			return l
		case arg == "-h":
			l.flags = append(l.flags, given{"help", "true"})
		case !strings.HasPrefix(arg, "-") || arg == "-":
			l.words = append(l.words, arg)
		default:
			i += l.flag(args[i:], arity)
		}
	}
	return l
}

// flag reads the flag at the head of args and returns how many arguments
// beyond it were its value.
func (l *line) flag(args []string, arity map[string]bool) int {
	name, value, joined := strings.Cut(strings.TrimPrefix(args[0], "--"), "=")
	takes, known := arity[name]
	switch {
	case !strings.HasPrefix(args[0], "--") || !known:
		l.unknown(args[0], arity)
	case joined && takes:
		l.flags = append(l.flags, given{name, value})
	case joined:
		l.switched(name, value)
	case !takes:
		l.flags = append(l.flags, given{name, "true"})
	case len(args) < 2 || args[1] == "--" || isFlag(args[1], arity):
		l.wrong(usageError("--"+name+" needs a value", "--"+name))
	default:
		l.checkText(args[1])
		l.flags = append(l.flags, given{name, args[1]})
		return 1
	}
	return 0
}

// switched takes --debug=false and the like. What is neither on nor off is
// kept as it is: a later one may count instead.
func (l *line) switched(name, value string) {
	if on, err := strconv.ParseBool(value); err == nil {
		value = strconv.FormatBool(on)
	}
	l.flags = append(l.flags, given{name, value})
}

func (l *line) unknown(arg string, arity map[string]bool) {
	name, _, _ := strings.Cut(arg, "=")
	known := make([]string, 0, len(arity))
	for flag := range arity {
		known = append(known, "--"+flag)
	}
	slices.Sort(known)
	l.wrong(unknownWord("flag", name, known))
}

// checkText refuses what could not be repeated in an answer or stored.
func (l *line) checkText(arg string) {
	if problem := badText(arg); problem != "" {
		l.wrong(usageError("an argument "+problem, errcodes.Clip(visible(arg))))
	}
}

// wrong keeps the first problem: the ones behind it often follow from it.
func (l *line) wrong(problem *errcodes.Error) {
	if l.problem == nil {
		l.problem, l.began = problem, len(l.words) > 0
	}
}

// last returns the value of the last flag of that name.
func (l *line) last(name string) (string, bool) {
	for _, f := range slices.Backward(l.flags) {
		if f.name == name {
			return f.value, true
		}
	}
	return "", false
}

// superseded reports whether the single-valued flag at position i does not
// count, because it is given again later.
func (l *line) superseded(i int) bool {
	f := l.flags[i]
	return slices.ContainsFunc(l.flags[i+1:], func(later given) bool {
		return later.name == f.name || f.name == "format" && later.name == "json" && later.value == "true"
	})
}

// counting returns the flags of the line without those that a later one of
// the same name replaces.
func (l *line) counting(cmd *command) []given {
	specs := cmd.accepted()
	var flags []given
	for i, f := range l.flags {
		if spec := find(specs, f.name); spec == nil || spec.repeat || !l.superseded(i) {
			flags = append(flags, f)
		}
	}
	return flags
}

// formatFlag returns the flag that chose the format, as it would be written
// again, "" when none did.
func (l *line) formatFlag() string {
	for _, f := range slices.Backward(l.flags) {
		switch {
		case f.name == "json" && f.value == "true":
			return "--json"
		case f.name == "format" && f.value == l.format():
			return "--format " + f.value
		}
	}
	return ""
}

// format returns the last valid format on the line, "" when there is none.
func (l *line) format() string {
	for _, f := range slices.Backward(l.flags) {
		switch {
		case f.name == "json" && f.value == "true":
			return formatJSON
		case f.name == "format" && (f.value == formatJSON || f.value == formatLogfmt):
			return f.value
		}
	}
	return ""
}

// isFlag reports whether arg is exactly a flag that exists.
func isFlag(arg string, arity map[string]bool) bool {
	name, dashed := strings.CutPrefix(arg, "--")
	_, known := arity[name]
	return dashed && known
}

// badText says what is wrong with a text from outside, "" when nothing is.
func badText(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "is not valid UTF-8"
	case strings.ContainsRune(text, 0):
		return "contains a NUL character"
	default:
		return ""
	}
}

// visible makes any bytes fit to be repeated.
func visible(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
