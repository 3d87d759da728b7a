package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// The benchmarks here time whole processes, since a command is a process.
// Beside the time an iteration takes, each reports the median and the peak
// memory of one process. BenchmarkBaseline is what the machine takes for a
// process of git, to compare with.

var sizes = []int{100, 10_000, 100_000}

// program builds leslie as it is released and returns its path.
func program(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "leslie")
	build := exec.Command("go", "build", "-trimpath", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("building: %v\n%s", err, out)
	}
	return path
}

// filled makes a store of so many threads and returns its directory.
func filled(b *testing.B, program string, threads int) string {
	b.Helper()
	dir := b.TempDir()
	once(b, dir, program, "init")
	for left := threads - 1; left > 0; left -= 10_000 {
		once(b, dir, program, "spawn", "--intent", "an intent of the usual length, a sentence or two of what to do", "--count", strconv.Itoa(min(left, 10_000)))
	}
	once(b, dir, program, "spawn", "--id", "needle", "--intent", "the one that is looked for")
	return dir
}

func once(b *testing.B, dir string, command ...string) (time.Duration, int64) {
	b.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", command, err, out)
	}
	return time.Since(start), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
}

func measure(b *testing.B, dir string, command ...string) {
	var times []time.Duration
	var peak int64
	for b.Loop() {
		took, memory := once(b, dir, command...)
		times, peak = append(times, took), max(peak, memory)
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(peak)/1024, "MB-peak")
}

func BenchmarkBaseline(b *testing.B) {
	dir := b.TempDir()
	once(b, dir, "git", "init", "-q")
	b.Run("git rev-parse", func(b *testing.B) { measure(b, dir, "git", "rev-parse") })
	leslie := program(b)
	b.Run("leslie version", func(b *testing.B) { measure(b, dir, leslie, "version") })
}

func BenchmarkProcess(b *testing.B) {
	leslie := program(b)
	commands := []struct {
		name string
		args []string
	}{
		{"read", []string{"status", "needle", "--json"}},
		{"write", []string{"spawn", "--intent", "one more", "--json"}},
		{"list", []string{"list", "--json"}},
	}
	for _, size := range sizes {
		dir := filled(b, leslie, size)
		for _, command := range commands {
			b.Run(fmt.Sprintf("%s/%d", command.name, size), func(b *testing.B) {
				measure(b, dir, append([]string{leslie}, command.args...)...)
			})
		}
	}
}
