package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
)

// table reads a state file that this package wrote. Every line that it uses
// is checked against its checksum and the order of keys, so that it gives
// the right record or damage, never a wrong one.
//
// A record is found by binary search over the bytes: the line that holds the
// middle of the range decides in which half to go on. The last two lines it
// compares are neighbours, and their blocks are checked (sums.go), so a key
// that is not there is known not to be there.
type table struct {
	file   *os.File
	header header
	start  int64 // of the first record's line
	end    int64 // behind the last record's line
	mode   os.FileMode

	sums     []byte // of the blocks of its records
	verified []bool // the blocks that are known to be right

	blocks map[int64][]byte // those that searches have read first

	recent       []byte // the block that was read last and is not among them
	recentNumber int64
}

// errMisfit says that a state file is not as this package writes it: damaged,
// or rewritten by another program.
var errMisfit = errors.New("not as it was written")

// A search reads the file in blocks, and keeps up to so many of them.
const (
	block      = 4 << 10
	keptBlocks = 256
)

// openTable opens a state file and checks its frame. Codes: T505; an error
// that is errMisfit calls for recovery.
func openTable(root *os.Root, path string) (*table, error) {
	file, err := openRegular(root, path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	opened, err := readFrame(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return opened, nil
}

func readFrame(file *os.File) (*table, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	start := make([]byte, min(info.Size(), headerLimit, 4<<10))
	if _, err := file.ReadAt(start, 0); err != nil && err != io.EOF {
		return nil, err
	}
	h, ours, err := headerOf(start)
	if err != nil {
		return nil, err
	}
	if !ours || h.Bytes != info.Size() {
		return nil, fmt.Errorf("its header is %w", errMisfit)
	}
	t := &table{file: file, header: h, start: int64(h.size()), mode: info.Mode()}
	t.sums, t.end, err = sumsOf(file, t.start, h.Bytes)
	t.verified = make([]bool, len(t.sums)/sumDigits)
	return t, err
}

// search returns where the line of key is, or where it would stand, and the
// record's text when it is there.
func (t *table) search(key string) (int64, body, error) {
	low, high := t.start, t.end
	before, after := low, high // the lines around the place: where they begin and end
	for low < high {
		line, begin, next, err := t.lineAt((low+high)/2, low, high)
		if err != nil {
			return 0, nil, err
		}
		have, _, err := lineKey(line)
		if err != nil {
			return 0, nil, t.broken(begin, err)
		}
		switch order := bytes.Compare(have, []byte(key)); {
		case order == 0:
			_, text, err := splitLine(bytes.Clone(line))
			return begin, text, err
		case order < 0:
			before, low = begin, next
		default:
			after, high = next, begin
		}
	}
	return low, nil, t.verify(before, after)
}

func (t *table) broken(offset int64, err error) error {
	return fmt.Errorf("the line at byte %d is %w: %w", offset, errMisfit, err)
}

// lineAt returns the line, without separator, that holds the byte at
// position, where it begins and where the next one does. Lines begin at low
// and end at high. The caller must not change the line.
func (t *table) lineAt(position, low, high int64) (line []byte, begin, next int64, err error) {
	first, last := position/block, position/block
	for {
		from, to := max(low, first*block), min(high, (last+1)*block)
		if to-from > largestRead {
			return t.longLineAt(position, low, high)
		}
		data, err := t.bytes(from, to)
		if err != nil {
			return nil, 0, 0, fmt.Errorf("%w: %w", errMisfit, err)
		}
		before := bytes.LastIndexByte(data[:position-from], '\n')
		after := bytes.IndexByte(data[position-from:], '\n')
		switch {
		case before < 0 && from > low:
			first -= 1 + (last - first)
		case after < 0 && to < high:
			last += 1 + (last - first)
		case after < 0:
			return nil, 0, 0, t.broken(from, errBroken)
		default:
			stop := int(position-from) + after
			return trimSeparator(data[before+1 : stop]), from + int64(before+1), from + int64(stop+1), nil
		}
	}
}

// longLineAt is lineAt for a line that is looked for with a memory that does
// not depend on its length, before it is read.
func (t *table) longLineAt(position, low, high int64) (line []byte, begin, next int64, err error) {
	begin = position
	for buffer := make([]byte, largestRead); begin > low; {
		part := buffer[:min(begin-low, largestRead)]
		if _, err := t.file.ReadAt(part, begin-int64(len(part))); err != nil {
			return nil, 0, 0, fmt.Errorf("%w: %w", errMisfit, err)
		}
		before := bytes.LastIndexByte(part, '\n')
		begin -= int64(len(part) - (before + 1))
		if before >= 0 || position-begin > lineLimit {
			break
		}
	}
	if position-begin > lineLimit {
		return nil, 0, 0, t.broken(begin, errBroken)
	}
	reader := newLineReader(t.file, begin, high, largestRead)
	line, _, err = reader.next()
	if err != nil {
		return nil, 0, 0, t.broken(begin, err)
	}
	return trimSeparator(line), begin, reader.begin, nil
}

// bytes returns a part of the file, which the caller must not change, and has
// to be done with before the next call.
func (t *table) bytes(from, to int64) ([]byte, error) {
	number := from / block
	if to > (number+1)*block {
		data := make([]byte, to-from)
		_, err := t.file.ReadAt(data, from)
		return data, err
	}
	data, err := t.block(number)
	if err != nil {
		return nil, err
	}
	return data[from-number*block : to-number*block], nil
}

// block returns one block. The first ones are kept: searches for several keys
// begin with the same. Of the others it is the latest, in which a search ends.
func (t *table) block(number int64) ([]byte, error) {
	if data, found := t.blocks[number]; found {
		return data, nil
	}
	if t.recentNumber == number && t.recent != nil {
		return t.recent, nil
	}
	room := t.recent[:cap(t.recent)]
	if len(room) < block {
		room = make([]byte, block)
	}
	t.recent = nil
	data := room[:min(block, t.header.Bytes-number*block)]
	if _, err := t.file.ReadAt(data, number*block); err != nil {
		return nil, err
	}
	if len(t.blocks) == keptBlocks {
		t.recent, t.recentNumber = data, number
		return data, nil
	}
	if t.blocks == nil {
		t.blocks = map[int64][]byte{}
	}
	t.blocks[number] = data
	return data, nil
}

// trimSeparator removes the comma between two records.
func trimSeparator(line []byte) []byte { return bytes.TrimSuffix(line, []byte(",")) }

// line is one record of a state file or of an overlay.
type line struct {
	key  string
	text body
}

// lines yields the records from the byte at on, in order. Their text is valid
// until the next step. The first line is one that the search has read, so
// that a range without records costs no more.
func (t *table) lines(at int64, room int) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		if at >= t.end {
			return
		}
		var names keys
		var last string
		give := func(raw []byte, begin int64, err error) bool {
			var key []byte
			var text body
			if err == nil {
				key, text, err = splitLine(trimSeparator(raw))
			}
			if err == nil && string(key) <= last {
				err = errBroken
			}
			if err == nil {
				err = t.verify(begin, begin+int64(len(raw)))
			}
			if err != nil {
				yield(line{}, t.broken(begin, err))
				return false
			}
			last = names.take(key)
			return yield(line{last, text}, nil)
		}
		first, _, next, err := t.lineAt(at, at, t.end)
		if !give(bytes.Clone(first), at, err) {
			return
		}
		reader := newLineReader(t.file, next, t.end, room)
		for {
			raw, begin, err := reader.next()
			if err == io.EOF && begin == t.end || !give(raw, begin, err) {
				return
			}
		}
	}
}

// keys makes strings of the keys of many lines, several of them in one piece
// of memory.
type keys struct{ piece strings.Builder }

// How large the pieces are: the first is for the one line of most ranges.
const (
	firstPiece   = 64
	largestPiece = 2 << 10
)

func (k *keys) take(key []byte) string {
	if k.piece.Cap()-k.piece.Len() < len(key) {
		room := max(len(key), firstPiece, min(4*k.piece.Cap(), largestPiece))
		k.piece.Reset()
		k.piece.Grow(room)
	}
	at := k.piece.Len()
	k.piece.Write(key)
	return k.piece.String()[at:]
}

// room is the memory in which all of the table is read, up to what is read at once.
func (t *table) room() int { return int(min(largestRead, t.header.Bytes)) }

func (t *table) close() { t.file.Close() }
