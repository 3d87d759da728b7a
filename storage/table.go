package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// table reads a state file that this package wrote. Every line that it uses
// is checked against its checksum and the order of keys, so that it gives
// the right record or damage, never a wrong one.
//
// A record is found by binary search over the bytes: the line that holds the
// middle of the range decides in which half to go on. The last two lines it
// compares are neighbours, so a key that is not there is known not to be there.
type table struct {
	file   *os.File
	header header
	start  int64 // of the first record's line
	end    int64 // behind the last record's line
	mode   os.FileMode
	blocks map[int64][]byte // those that searches have read
}

// tableEnd closes the records and the file.
const tableEnd = "}}\n"

// errMisfit says that a state file is not as this package writes it: damaged,
// or rewritten by another program.
var errMisfit = errors.New("not as it was written")

// How much is read of a range of lines at first, and when it is long.
const (
	firstRead   = 1 << 10
	largestRead = 256 << 10
)

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
	if !ours || h.Bytes != info.Size() || h.Bytes < int64(h.size()+len(tableEnd)) {
		return nil, fmt.Errorf("its header is %w", errMisfit)
	}
	t := &table{file: file, header: h, start: int64(h.size()), end: h.Bytes - int64(len(tableEnd)), mode: info.Mode()}
	last := make([]byte, len(tableEnd))
	if _, err := file.ReadAt(last, t.end); err != nil || string(last) != tableEnd {
		return nil, fmt.Errorf("its end is %w", errMisfit)
	}
	return t, nil
}

// search returns where the line of key is, or where it would stand, and the
// record's text when it is there.
func (t *table) search(key string) (int64, body, error) {
	low, high := t.start, t.end
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
			low = next
		default:
			high = begin
		}
	}
	return low, nil, nil
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

// bytes returns a part of the file, which the caller must not change. Single
// blocks are kept: searches for several keys begin with the same ones.
func (t *table) bytes(from, to int64) ([]byte, error) {
	number := from / block
	if to > (number+1)*block {
		data := make([]byte, to-from)
		_, err := t.file.ReadAt(data, from)
		return data, err
	}
	kept, found := t.blocks[number]
	if !found {
		kept = make([]byte, min(block, t.header.Bytes-number*block))
		if _, err := t.file.ReadAt(kept, number*block); err != nil {
			return nil, err
		}
		if t.blocks == nil {
			t.blocks = map[int64][]byte{}
		}
		if len(t.blocks) < keptBlocks {
			t.blocks[number] = kept
		}
	}
	return kept[from-number*block : to-number*block], nil
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
func (t *table) lines(at int64) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		if at >= t.end {
			return
		}
		var last []byte
		give := func(raw []byte, begin int64, err error) bool {
			var key []byte
			var text body
			if err == nil {
				key, text, err = splitLine(trimSeparator(raw))
			}
			if err == nil && bytes.Compare(key, last) <= 0 {
				err = errBroken
			}
			if err != nil {
				yield(line{}, t.broken(begin, err))
				return false
			}
			last = append(last[:0], key...)
			return yield(line{string(key), text}, nil)
		}
		first, _, next, err := t.lineAt(at, at, t.end)
		if !give(bytes.Clone(first), at, err) {
			return
		}
		reader := newLineReader(t.file, next, t.end)
		for {
			raw, begin, err := reader.next()
			if err == io.EOF || !give(raw, begin, err) {
				return
			}
		}
	}
}

// lineReader reads lines between two places of a file through one buffer,
// which is small at first, because most ranges are.
type lineReader struct {
	file      *os.File
	at, end   int64 // of what is not yet in the buffer
	buffer    []byte
	from, to  int // the part of buffer that was not given out
	nextBegin int64
}

func newLineReader(file *os.File, at, end int64) *lineReader {
	return &lineReader{file: file, at: at, end: end, buffer: make([]byte, firstRead), nextBegin: at}
}

// next returns a line without its newline, valid until the next call, and
// where it begins; io.EOF at the end.
func (r *lineReader) next() (line []byte, begin int64, err error) {
	searched := 0
	for {
		if i := bytes.IndexByte(r.buffer[r.from+searched:r.to], '\n'); i >= 0 {
			i += searched
			line, begin = r.buffer[r.from:r.from+i], r.nextBegin
			r.from += i + 1
			r.nextBegin += int64(i + 1)
			return line, begin, nil
		}
		searched = r.to - r.from
		if r.at >= r.end {
			if searched > 0 {
				return nil, r.nextBegin, errBroken
			}
			return nil, r.nextBegin, io.EOF
		}
		if err := r.fill(); err != nil {
			return nil, r.nextBegin, err
		}
	}
}

func (r *lineReader) fill() error {
	r.to = copy(r.buffer, r.buffer[r.from:r.to])
	r.from = 0
	if r.to == len(r.buffer) || len(r.buffer) < largestRead {
		larger := make([]byte, 4*len(r.buffer))
		copy(larger, r.buffer[:r.to])
		r.buffer = larger
	}
	room := min(int64(len(r.buffer)-r.to), r.end-r.at)
	n, err := r.file.ReadAt(r.buffer[r.to:r.to+int(room)], r.at)
	r.to += n
	r.at += int64(n)
	if err == io.EOF && n > 0 {
		return nil
	}
	return err
}

func (t *table) close() { t.file.Close() }
