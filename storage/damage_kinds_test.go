package storage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
)

// trial is one damage: the files that hold something else than they should,
// nil for one that is gone.
type trial struct {
	kind   string
	at     string
	files  map[string][]byte
	deeply bool // what follows the reading is tried too
}

// extent says how many damages there are to be.
type extent struct {
	step   int // every so manieth byte is flipped, and a prefix ends there
	deeply int // of those, every so manieth is written to as well
	pieces int // in so many places it is torn, and so many earlier versions stand in its place
	thin   int // of the large store, every so manieth
	flips  []flipping
	random int // how many triples
}

type flipping struct {
	name string
	of   func(at int, b byte) byte
}

var flippings = []flipping{
	{"one bit", func(at int, b byte) byte { return b ^ 1<<(at%8) }},
	{"all bits", func(_ int, b byte) byte { return ^b }},
	{"to 0", func(_ int, b byte) byte { return '0' }},
	{"to newline", func(_ int, b byte) byte { return '\n' }},
	{"to a quote", func(_ int, b byte) byte { return '"' }},
}

// oneFile takes one damage of a file; whatever leaves it as it is does not count.
type oneFile func(kind string, at int, data []byte, deeply bool)

// damaged gives every damage of one file.
func (e extent) damaged(s *scene, path string, each func(trial)) {
	whole := s.files[path]
	one := func(kind string, at int, data []byte, deeply bool) {
		if data == nil || !bytes.Equal(data, whole) {
			each(trial{kind, fmt.Sprintf("%s at %d", path, at), map[string][]byte{path: data}, deeply})
		}
	}
	for at := 0; at < len(whole); at += e.step {
		deeply := at/e.step%e.deeply == 0
		for i, f := range e.flips {
			changed := bytes.Clone(whole)
			changed[at] = f.of(at, whole[at])
			one(f.name, at, changed, deeply && (at+i)%len(e.flips) == 0)
		}
		one("prefix", at, whole[:at:at], deeply)
	}
	e.torn(s, path, one)
	e.lines(whole, one)
	for back, data := range e.earlier(s, path) {
		one("an earlier version", back, data, true)
	}
}

// torn gives the damages that are larger than a byte.
func (e extent) torn(s *scene, path string, one oneFile) {
	whole := s.files[path]
	for at := range e.pieces {
		from := len(whole) * at / e.pieces
		to := len(whole) * (at + 1) / e.pieces
		hole, tail := bytes.Clone(whole), bytes.Clone(whole)
		clear(hole[from:to])
		clear(tail[from:])
		scrambled := bytes.Clone(whole)
		for at := from; at < min(to, from+4096); at += 61 {
			scrambled[at] ^= 0x21
		}
		one("scrambled block", from, scrambled, true)
		one("text inserted", from, slices.Insert(bytes.Clone(whole), (from+to)/2, []byte("<<<<<<< HEAD\n")...), true)
		one("bytes cut out", from, slices.Delete(bytes.Clone(whole), from+(to-from)/3, to), true)
		one("zero-filled hole", from, hole, true)
		one("zero-filled tail", from, tail, true)
	}
	for kind, data := range map[string][]byte{
		"missing": nil, "empty": {}, "garbage": []byte("\x00garbage{{{\n\xff\xfe"), "an object": []byte("{}\n"), "an array": []byte("[1,2,3]\n"),
		"reformatted":    bytes.ReplaceAll(whole, []byte(`":`), []byte(`": `)),
		"garbage behind": append(bytes.Clone(whole), "garbage"...), "lines of garbage behind": append(bytes.Clone(whole), "garbage\nand more\n"...),
	} {
		one(kind, 0, data, true)
	}
}

// lines gives the damages that leave every line whole.
func (e extent) lines(whole []byte, one oneFile) {
	lines := bytes.SplitAfter(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
	lines[len(lines)-1] = append(bytes.Clone(lines[len(lines)-1]), '\n')
	step := max(1, len(lines)/max(6, e.pieces))
	for at := 0; at < len(lines); at += step {
		removed := slices.Delete(slices.Clone(lines), at, at+1)
		doubled := slices.Insert(slices.Clone(lines), at, lines[at])
		swapped := slices.Clone(lines)
		next := (at + 1 + at%3) % len(lines)
		swapped[at], swapped[next] = swapped[next], swapped[at]
		for kind, changed := range map[string][][]byte{"line removed": removed, "line doubled": doubled, "lines swapped": swapped} {
			one(kind, at, bytes.Join(changed, nil), true)
		}
	}
}

// earlier yields what a file was some operations ago.
func (e extent) earlier(s *scene, path string) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for back := 1; back < len(s.past); back += 1 + back/max(2, e.pieces) {
			data, found := s.past[s.last()-int64(back)].files[path]
			if found && !bytes.Equal(data, s.files[path]) && !yield(back, data) {
				return
			}
		}
	}
}

// restored gives what is left when two of the three files are replaced by a
// copy that was made earlier.
func (e extent) restored(s *scene, each func(trial)) {
	three := []string{statePath, backupPath, s.currentLog()}
	for back := 1; back < len(s.past); back += 1 + back/max(3, e.pieces) {
		for kept := range three {
			files := map[string][]byte{}
			for _, path := range slices.Delete(slices.Clone(three), kept, kept+1) {
				files[path] = s.past[s.last()-int64(back)].files[path]
			}
			each(trial{"restored but for " + names[kept], fmt.Sprintf("%d operations back", back), files, true})
		}
	}
}

// names are those of the three files in the table.
var names = []string{"the state", ".bak", "the log"}

// triples gives random damages of state, backup and log at once.
func (e extent) triples(s *scene, seed uint64, each func(trial)) {
	random := rand.New(rand.NewPCG(seed, uint64(len(s.name))))
	logs := s.logs()
	for n := range e.random {
		files := map[string][]byte{}
		for _, path := range []string{statePath, backupPath, logs[len(logs)-1-random.IntN(2)*random.IntN(len(logs))]} {
			if data, damaged := s.random(random, path); damaged {
				files[path] = data
			}
		}
		each(trial{"random triple", fmt.Sprintf("number %d of seed %d", n, seed), files, n%(e.deeply/4) == 0})
	}
}

// random damages one file in one of the ways there are, or leaves it whole.
func (s *scene) random(random *rand.Rand, path string) (data []byte, damaged bool) {
	whole := s.files[path]
	at := random.IntN(len(whole))
	if random.IntN(4) == 0 {
		// The last bytes decide what looks like a write that was cut short.
		at = len(whole) - 1 - random.IntN(min(len(whole), 2000))
	}
	data = bytes.Clone(whole)
	switch random.IntN(11) {
	case 10:
		data = bytes.ReplaceAll(data, []byte(`":`), []byte(`": `))
	case 0:
		return nil, false
	case 1:
		return nil, true
	case 2:
		return data[:at], true
	case 3:
		clear(data[at:])
	case 4:
		clear(data[at:min(len(data), at+1+random.IntN(4096))])
	case 5:
		back := 1 + random.IntN(min(8, len(s.past)-1))
		return s.past[s.last()-int64(back)].files[path], true
	case 6:
		data = data[:bytes.LastIndexByte(data[:at], '\n')+1]
	case 7:
		from := bytes.LastIndexByte(data[:at], '\n') + 1
		data = slices.Delete(data, from, from+bytes.IndexByte(data[from:], '\n')+1)
	default:
		for range 1 + random.IntN(3) {
			data[random.IntN(len(data))] ^= byte(1 + random.IntN(255))
		}
		data[at] ^= byte(1 + random.IntN(255))
	}
	return data, true
}

// sameMembers reports whether two files hold the same members in any order.
func sameMembers(a, b []byte) bool {
	var one, two any
	return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &two) == nil && reflect.DeepEqual(one, two)
}
