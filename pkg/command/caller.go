package command

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
)

// longestName is the number of bytes that a caller's name may have.
const longestName = 120

// checkCaller refuses a name that could not stand on one line of the log.
// argument is the flag or the variable that it came from.
func checkCaller(argument, name string) *errcodes.Error {
	if len(name) > longestName {
		return usageError(argument+" takes a name of at most "+strconv.Itoa(longestName)+" bytes", argument)
	}
	for _, r := range name {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || isBidi(r) {
			return usageError(argument+" takes a name without control characters", argument)
		}
	}
	return nil
}

// isBidi reports whether r changes the direction in which text is shown.
func isBidi(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x61c
}

// systemUser returns the name of the user that runs the process. It reads
// the user table itself: os/user would link the C library into the program,
// which costs every start of it.
func systemUser(env environment) string {
	id := strconv.Itoa(os.Getuid())
	if file, err := os.Open("/etc/passwd"); err == nil {
		defer file.Close()
		lines := bufio.NewScanner(io.LimitReader(file, 1<<20))
		for lines.Scan() {
			fields := strings.Split(lines.Text(), ":")
			if len(fields) > 2 && fields[2] == id && checkCaller("", fields[0]) == nil {
				return fields[0]
			}
		}
	}
	for _, name := range []string{"USER", "LOGNAME"} {
		if user := env.value(name); user != "" && badText(user) == "" && checkCaller("", user) == nil {
			return user
		}
	}
	return "uid-" + id
}

// isTerminal reports whether stream is a terminal. The null device, a
// character device too, is none.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok || file == nil {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// operatorOf returns what kind of caller this is: as told, else a person
// where stdin is a terminal.
func operatorOf(told string, stdin io.Reader) string {
	switch {
	case told != "":
		return told
	case isTerminal(stdin):
		return "user"
	default:
		return "agent"
	}
}

// callerOf returns who calls, as told or else the user of the system.
func callerOf(told string, env environment) string {
	if told == "" {
		return systemUser(env)
	}
	return told
}
