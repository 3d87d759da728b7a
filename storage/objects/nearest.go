package objects

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

const (
	mostNearest = 3
	mostEdits   = 3
	shortest    = 8 // letters of a beginning that says something: more than "thread-"
)

// Nearest returns up to three of known that name was perhaps meant to be, the
// likeliest first: few edits away, or beginning with it. It copies what it
// keeps, and is cheap enough for 100,000 names.
func Nearest(name string, known iter.Seq[string]) []string {
	type candidate struct {
		name  string
		edits int
	}
	var best []candidate
	bound := min(mostEdits, (len(name)+1)/3)
	for have := range known {
		edits := distance(name, have, bound)
		if edits > bound && len(name) >= shortest && strings.HasPrefix(have, name) {
			edits = bound
		}
		if edits > bound || len(best) == mostNearest && edits >= best[mostNearest-1].edits {
			continue
		}
		best = append(best, candidate{strings.Clone(have), edits})
		slices.SortStableFunc(best, func(a, b candidate) int { return cmp.Compare(a.edits, b.edits) })
		best = best[:min(len(best), mostNearest)]
	}
	var names []string
	for _, c := range best {
		names = append(names, c.name)
	}
	return names
}

// Unknown gives err, which is about name, what was perhaps meant (nearest):
// one of the keys under prefix. That the store cannot be read is no news
// where something was not found, so such an error only ends the search.
func Unknown(r storage.Reader, prefix, name string, err *errcodes.Error) *errcodes.Error {
	near := Nearest(name, func(yield func(string) bool) {
		for record, err := range r.Scan(prefix) {
			if err != nil || !yield(record.Key[len(prefix):]) {
				return
			}
		}
	})
	if len(near) == 0 {
		return err
	}
	return err.Having("nearest", near)
}

// distance is the number of letters to insert, delete or replace between a
// and b, or bound+1 where it is more than bound. Only the cells of the
// table within bound of its diagonal are looked at.
func distance(a, b string, bound int) int {
	over := bound + 1
	if len(a)-len(b) > bound || len(b)-len(a) > bound {
		return over
	}
	var space [96]int // ids are shorter; most calls need no memory of their own
	row := append(space[:0], make([]int, len(b)+1)...)
	for j := range row {
		row[j] = min(j, over)
	}
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-bound), min(len(b), i+bound)
		diagonal := row[from-1]
		if row[from-1] = over; from == 1 {
			row[0] = min(i, over)
		}
		lowest := row[from-1]
		for j := from; j <= to; j++ {
			above := over
			if j < i+bound {
				above = row[j]
			}
			replaced := diagonal
			if a[i-1] != b[j-1] {
				replaced++
			}
			diagonal = row[j]
			row[j] = min(replaced, above+1, row[j-1]+1, over)
			lowest = min(lowest, row[j])
		}
		if lowest > bound {
			return over
		}
	}
	return row[len(b)]
}
