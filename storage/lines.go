package storage

import (
	"bytes"
	"io"
)

// lineLimit is the longest line that is read and the longest that is written.
// A longer one is damage, passed over without being held in memory.
const lineLimit = 32 << 20

// scanLimit is how much of a file is gone through in search of lines that are
// intact, in a second or two. No log or state comes near it.
const scanLimit = 1 << 30

// How much is read of a range of lines at first, and when it is long.
const (
	firstRead   = 1 << 10
	largestRead = 256 << 10
)

// lineReader reads lines between two places of a file through one buffer,
// which is small at first, because most ranges are. Its memory is bounded by
// the longest line that is allowed, whatever the file holds.
type lineReader struct {
	file     io.ReaderAt
	at, end  int64 // of what is not yet in the buffer
	buffer   []byte
	from, to int   // the part of buffer that was not given out
	begin    int64 // of the next line
}

func newLineReader(file io.ReaderAt, at, end int64, room int) *lineReader {
	return &lineReader{file: file, at: at, end: end, buffer: make([]byte, room), begin: at}
}

// next returns a line without its newline, valid until the next call, and
// where it begins. It is errBroken for one that is too long, which it does not
// return, and for a last one that has no newline; io.EOF at the end.
func (r *lineReader) next() (line []byte, begin int64, err error) {
	for searched := 0; ; {
		begin = r.begin
		if i := bytes.IndexByte(r.buffer[r.from+searched:r.to], '\n'); i >= 0 {
			line = r.buffer[r.from : r.from+searched+i]
			r.from += len(line) + 1
			r.begin += int64(len(line) + 1)
			return line, begin, nil
		}
		searched = r.to - r.from
		switch {
		case r.at < r.end && searched >= largestRead:
			return r.long()
		case r.at < r.end:
			if err := r.fill(); err != nil {
				return nil, begin, err
			}
		case searched == 0:
			return nil, begin, io.EOF
		default:
			line = r.buffer[r.from:r.to]
			r.from, r.begin = r.to, r.end
			return line, begin, errBroken
		}
	}
}

// fill reads more behind what was not given out. A file that ends early, as
// one does from which a writer cuts a torn line, ends there.
func (r *lineReader) fill() error {
	rest := copy(r.buffer, r.buffer[r.from:r.to])
	r.from, r.to = 0, rest
	if r.end-r.at > int64(len(r.buffer)-rest) && (rest > 0 || len(r.buffer) < largestRead) {
		if grown := min(4*len(r.buffer), 2*largestRead); grown > len(r.buffer) {
			larger := make([]byte, grown)
			copy(larger, r.buffer[:rest])
			r.buffer = larger
		}
	}
	n, err := r.read(r.buffer[rest:], r.at)
	r.to += n
	r.at += int64(n)
	return err
}

// read reads bytes of the range; it shortens the range where the file has less.
func (r *lineReader) read(into []byte, at int64) (int, error) {
	into = into[:min(int64(len(into)), r.end-at)]
	n, err := r.file.ReadAt(into, at)
	if err == io.EOF {
		r.end, err = at+int64(n), nil
	}
	return n, err
}

// long returns a line that is longer than the buffer: its end is looked for
// first, so that only a line that is not too long is held.
func (r *lineReader) long() (line []byte, begin int64, err error) {
	begin = r.begin
	stop, found := r.at, false
	for !found && stop < r.end {
		n, err := r.read(r.buffer, stop)
		if err != nil {
			return nil, begin, err
		}
		i := bytes.IndexByte(r.buffer[:n], '\n')
		if found = i >= 0; found {
			n = i
		}
		stop += int64(n)
	}
	next := stop
	if found {
		next++
	} else {
		err = errBroken
	}
	r.from, r.to, r.at, r.begin = 0, 0, next, next
	if stop-begin > lineLimit {
		return nil, begin, errBroken
	}
	line = make([]byte, stop-begin)
	if n, failed := r.file.ReadAt(line, begin); n < len(line) {
		return nil, begin, failed
	}
	return line, begin, err
}
