package storage

import (
	"flag"
	"testing"
)

var full = flag.Bool("full", false, "run the sweeps in full")

// alone leaves a test out of the short form, which runs under the race
// detector: it has one goroutine and much to do.
func alone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("has one goroutine")
	}
}
