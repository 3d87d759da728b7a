package command

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/threads"
)

// checkGroup refuses a first word that cannot stand alone.
func checkGroup(cs commands, in input, _ line) *errcodes.Error {
	if !in.cmd.group {
		return nil
	}
	second := cs.under(in.cmd.name)
	if len(in.args) > 0 {
		return unknownWord(in.cmd.name+" command", in.args[0], second).Having("allowed", second)
	}
	return usageError(in.cmd.name+" needs one of "+strings.Join(second, ", "), in.cmd.name).Having("allowed", second)
}

// checkFlags refuses flags that the command does not take and values that
// are not what the flag needs, where they count.
func checkFlags(_ commands, in input, l line) *errcodes.Error {
	specs := in.cmd.accepted()
	for i, g := range l.flags {
		spec := find(specs, g.name)
		if spec == nil {
			names := make([]string, 0, len(specs))
			for _, f := range specs {
				names = append(names, "--"+f.name)
			}
			return unknownWord("flag of "+in.cmd.name, "--"+g.name, names)
		}
		if !spec.repeat && l.superseded(i) {
			continue
		}
		if err := checkValue("--"+g.name, g.value, spec); err != nil {
			return err
		}
	}
	return nil
}

// checkRequired refuses a line without a flag that the command needs. One
// given empty is as good as none. It comes last: what is there and wrong says
// more than what is missing.
func checkRequired(_ commands, in input, l line) *errcodes.Error {
	for _, f := range in.cmd.flags {
		if value, _ := l.last(f.name); f.required && value == "" {
			return usageError(in.cmd.name+" needs --"+f.name, "--"+f.name)
		}
	}
	return nil
}

func find(specs []flagSpec, name string) *flagSpec {
	for i := range specs {
		if specs[i].name == name {
			return &specs[i]
		}
	}
	return nil
}

// checkArgs refuses missing, superfluous and unfit arguments. An argument that
// --thread can serve for counts as optional here.
func checkArgs(cs commands, in input, _ line) *errcodes.Error {
	specs := in.cmd.args
	if len(specs) > 1 && specs[0].thread && len(in.args) < len(specs) {
		specs = specs[1:]
	}
	most := len(specs)
	for i, spec := range specs {
		if spec.many {
			most = max(most, len(in.args))
		}
		if i >= len(in.args) {
			if spec.optional || spec.thread {
				continue
			}
			return usageError(in.cmd.name+" needs "+spec.name, spec.name)
		}
		if err := checkValue(spec.name, in.args[i], &flagSpec{kind: spec.kind, allowed: spec.allowed}); err != nil {
			return err
		}
	}
	if len(in.args) > most {
		extra := in.args[most]
		if second := cs.under(in.cmd.name); most == 0 && len(second) > 0 {
			return unknownWord(in.cmd.name+" command", extra, second).Having("allowed", second)
		}
		return usageError(fmt.Sprintf("%s takes no argument %s", in.cmd.name, errcodes.Clip(extra)), errcodes.Clip(extra))
	}
	return nil
}

// checkEnvironment refuses variables that say something leslie cannot take,
// where the line does not say it instead. Only the caller can repair that:
// whatever command is named next would fail in the same way.
func checkEnvironment(env environment, l line, cmd *command) *errcodes.Error {
	for _, f := range environmentFlags {
		value := env.value(f.env)
		if value == "" || saidInstead(f, l, cmd) {
			continue
		}
		err := checkValue(f.env, value, &f)
		if problem := badText(value); problem != "" {
			err = usageError(f.env+" "+problem, f.env)
		}
		if err == nil {
			continue
		}
		hint := "Unset or correct the variable " + f.env
		if len(f.allowed) > 0 {
			hint += " (allowed: " + strings.Join(f.allowed, ", ") + ")"
		}
		return err.Having("hint", hint, "next", []string{})
	}
	return nil
}

// saidInstead reports whether the line has the flag that f stands in for. A
// command's own flag of that name is another one.
func saidInstead(f flagSpec, l line, cmd *command) bool {
	if cmd != nil {
		if own := cmd.own(f.name); own != nil && own.env != f.env {
			return false
		}
	}
	_, onLine := l.last(f.name)
	return onLine || f.name == "format" && l.format() != ""
}

// checkValue refuses a value that is not what spec needs. name is what the
// caller wrote before it.
func checkValue(name, value string, spec *flagSpec) *errcodes.Error {
	switch spec.kind {
	case choice:
		return checkChoice(name, value, spec.allowed)
	case number:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < spec.min || n > spec.max {
			return usageError(fmt.Sprintf("%s must be a whole number from %d to %d, not %s", name, spec.min, spec.max, errcodes.Clip(value)), name)
		}
	case boolean:
		if _, err := strconv.ParseBool(value); err != nil {
			return checkChoice(name, value, []string{"0", "1", "false", "true"})
		}
	case caller:
		return checkCaller(name, value)
	case ident:
		if err := threads.CheckID(value); err != nil {
			return errcodes.Of(err).Having("argument", name)
		}
	}
	return nil
}

func checkChoice(name, value string, allowed []string) *errcodes.Error {
	for _, word := range allowed {
		if value == word {
			return nil
		}
	}
	return unknownWord("value of "+name+":", value, allowed).Having("argument", name, "allowed", allowed)
}
