package command

import (
	"fmt"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
)

// usageError returns T903 for what is wrong with one argument of the line.
func usageError(problem, argument string) *errcodes.Error {
	return errcodes.Usage.With("problem", problem, "argument", argument)
}

// unknownWord returns T903 for a word that is none of known, with the one
// that was probably meant.
func unknownWord(what, word string, known []string) *errcodes.Error {
	word = errcodes.Clip(visible(word))
	problem := fmt.Sprintf("unknown %s %s", what, word)
	near := nearest(word, known)
	if near == "" {
		return usageError(problem, word)
	}
	return usageError(problem, word).Having("nearest", near)
}

// nearest returns the known word that word was probably meant to be, or "": one
// that differs in at most a third of its letters, and in more than one only
// where both begin alike. A word that begins a known one counts as near it.
func nearest(word string, known []string) string {
	letters := strings.TrimLeft(word, "-")
	best, least := "", 1+max(1, len(letters)/3)
	for _, candidate := range known {
		d := distance(word, candidate)
		if len(letters) > 2 && strings.HasPrefix(candidate, word) {
			d = 1
		}
		if d < least && (d <= 1 || initial(word) == initial(candidate)) {
			best, least = candidate, d
		}
	}
	return best
}

func initial(word string) byte {
	return (strings.TrimLeft(word, "-") + " ")[0]
}

// distance counts the letters to insert, remove, replace or swap with their
// neighbour that lead from a to b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
