package storage

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
)

// tampered gives lines of a large state back changed, at the same length.
var tampered = map[string]func(lines [][]byte, at int){
	"missing": func(lines [][]byte, at int) {
		last := len(lines) - 2
		lines[last] = append(bytes.TrimSuffix(lines[last], []byte("\n")), append(bytes.Repeat([]byte(" "), len(lines[at])), '\n')...)
		lines[at] = nil
	},
	"swapped":  func(lines [][]byte, at int) { lines[at], lines[at+700] = lines[at+700], lines[at] },
	"covered":  func(lines [][]byte, at int) { lines[at] = lines[at+1] },
	"doubled":  func(lines [][]byte, at int) { lines[at+1] = lines[at] },
	"in blank": func(lines [][]byte, at int) { copy(lines[at], bytes.Repeat([]byte(" "), len(lines[at])-1)) },
}

// TestMissingLineOfALargeStateIsNoticed holds that a record whose line was
// taken away is not held for one that never was: no update may put another in
// its place, and no reader may miss it in silence.
func TestMissingLineOfALargeStateIsNoticed(t *testing.T) {
	alone(t)
	for name, tamper := range tampered {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			wide := strings.Repeat("x", 400)
			if _, _, err := s.Update(ctx, Operation{}, func(tx *Tx) error {
				for i := range 4000 {
					if _, err := tx.Put(fmt.Sprintf("thread/%04d", i), item{Name: wide}); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(s.file(t, statePath), []byte("\n"))
			size := len(bytes.Join(lines, nil))
			tamper(lines, 2001)
			damaged := bytes.Join(lines, nil)
			if len(damaged) != size {
				t.Fatalf("the damage shows in the size: %d, not %d", len(damaged), size)
			}
			s.write(t, statePath, damaged)
			taken := errors.New("it is there")
			_, warnings, err := s.Update(ctx, Operation{}, func(tx *Tx) error {
				if _, found, err := tx.Get("thread/2000"); found || err != nil {
					return errors.Join(taken, err)
				}
				_, err := tx.Put("thread/2000", item{Name: "another"})
				return err
			})
			if !errors.Is(err, taken) || len(warnings) == 0 && name != "doubled" {
				t.Errorf("an update found no record where there is one: %v %v", err, warnings)
			}
			got, warnings := contents(t, s)
			if len(got) != 4000 || len(warnings) == 0 || warnings[0].Code != errcodes.Recovered {
				t.Errorf("a reader saw %d records, with %v", len(got), warnings)
			}
		})
	}
}
