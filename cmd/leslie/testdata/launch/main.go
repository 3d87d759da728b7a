// Command launch runs commands in turn, one at a time, and reports of every
// run, a line each, its microseconds, its peak memory in KB and its exit
// status. Linux counts what the parent occupies at the exec for the child's
// own, so this parent is as small as it can be.
//
//	launch REPORT RUNS COMMAND... [, COMMAND...]
package main

import (
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

func main() {
	report, commands := os.Args[1], split(os.Args[3:])
	runs, err := strconv.Atoi(os.Args[2])
	lines := ""
	for n := 0; n < runs && err == nil; n++ {
		var line string
		line, err = run(commands[n%len(commands)])
		lines += line
	}
	if err == nil {
		err = os.WriteFile(report, []byte(lines), 0o600)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func split(words []string) (commands [][]string) {
	for {
		end := slices.Index(words, ",")
		if end < 0 {
			return append(commands, words)
		}
		commands, words = append(commands, words[:end]), words[end+1:]
	}
}

func run(command []string) (string, error) {
	var status syscall.WaitStatus
	var used syscall.Rusage
	start := time.Now()
	pid, err := syscall.ForkExec(command[0], command, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	for err == nil {
		if _, err = syscall.Wait4(pid, &status, 0, &used); err == nil {
			break
		}
		if err == syscall.EINTR {
			err = nil
		}
	}
	took := time.Since(start)
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(took.Microseconds(), 10) + " " + strconv.FormatInt(int64(used.Maxrss), 10) + " " +
		strconv.Itoa(status.ExitStatus()) + "\n", nil
}
