package storage

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
)

// foreignLimit is the size up to which a state file is read that is not as
// this package wrote it: such a file has to be held whole. It is more than
// 100,000 threads take after jq.
const foreignLimit = 64 << 20

// readState reads all of a state file. It returns nil where it does not serve,
// and notes what it shows all the same.
func (r *recovery) readState(path string) (*base, error) {
	file, err := openRegular(r.store.disk.Root, path, os.O_RDONLY, 0)
	if err != nil {
		r.tried = append(r.tried, attemptAt{path, reason(err)})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, readable(path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, cannotRead(path, err)
	}
	if path == statePath {
		r.mode = info.Mode()
	}
	found, problem, err := r.readBase(path, file, info.Size())
	if err != nil {
		return nil, err
	}
	if problem == "" {
		r.note(found.header.Seq, path)
		return found, nil
	}
	r.tried = append(r.tried, attemptAt{path, problem})
	r.witnessLines(path, file, info.Size())
	return nil, nil
}

const (
	notJSON  = "it is not valid JSON"
	mismatch = "a record or the header does not match its checksum"
	tooLarge = "it is not as leslie wrote it, and too large for what another program made of it"
)

// readBase reads a state file, and says what is wrong with it.
func (r *recovery) readBase(path string, file *os.File, size int64) (found *base, problem string, err error) {
	opened, err := readFrame(file)
	switch {
	case errors.Is(err, errcodes.NewerSchema):
		return nil, "", err
	case err == nil:
		found, problem = opened.base(path)
		return found, problem, nil
	case size > foreignLimit:
		return nil, tooLarge, nil
	}
	found, valid := readForeign(path, file, size)
	if !valid {
		return nil, notJSON, nil
	}
	if err := found.header.known(); err != nil || found.whole {
		return found, "", err
	}
	if path == statePath && found.fits != unfit && rewritten(file, size, found.header) {
		r.foreign = found
	}
	return nil, mismatch, nil
}

// base reads every record of a state file that has its right frame.
func (t *table) base(path string) (found *base, problem string) {
	found = &base{path: path, header: t.header, fits: intact, records: map[string]body{}}
	for line, err := range t.lines(t.start, t.room()) {
		if err != nil {
			return nil, mismatch
		}
		if !validKey(line.key) || !line.text.sound() {
			return nil, notJSON
		}
		found.records[line.key] = slices.Clone(line.text)
	}
	if int64(len(found.records)) != t.header.Count || t.verify(t.start, t.end) != nil {
		return nil, mismatch
	}
	return found, ""
}

// readForeign reads header and records of any valid JSON object that holds
// them; it is whole when all checksums match.
func readForeign(path string, file io.ReaderAt, size int64) (found *base, valid bool) {
	if size > foreignLimit {
		return nil, false
	}
	var held strings.Builder
	held.Grow(int(size))
	if n, _ := io.Copy(&held, io.NewSectionReader(file, 0, size)); n < size || !validText(held.String()) {
		return nil, false
	}
	text := gjson.Parse(held.String())
	found = &base{path: path, records: map[string]body{}}
	found.header, found.fits = parseHeader(held.String())
	found.whole = found.fits == intact
	text.Get("records").ForEach(func(key, value gjson.Result) bool {
		found.take(key.Str, value)
		return true
	})
	found.whole = found.whole && int64(len(found.records)) == found.header.Count
	return found, text.IsObject()
}

// take takes in one record of a foreign file.
func (b *base) take(key string, value gjson.Result) {
	if _, twice := b.records[key]; twice || !validKey(key) || !value.IsObject() || len(value.Raw) > lineLimit {
		b.whole = false
		return
	}
	line := append([]byte(`"`+key+`":`), compact(value.Raw)...)
	if _, text, err := splitLine(line); err == nil && text.sound() {
		b.records[key] = text
		return
	}
	b.records[key] = body(value.Raw)
	b.whole = false
}

// witnessLines finds the latest operation of which a damaged state file shows a trace.
func (r *recovery) witnessLines(path string, file io.ReaderAt, size int64) {
	start := make([]byte, min(size, headerLimit))
	n, _ := file.ReadAt(start, 0)
	if h, ours, err := headerOf(start[:n]); ours && err == nil {
		r.note(h.Seq, path) // no record is newer
		return
	}
	for _, text := range intactLines(file, size) {
		if _, _, seq, ok := text.bookkeeping(); ok {
			r.witness = max(r.witness, seq)
		}
	}
}

// intactLines yields key and record of every intact line of a state file,
// each valid until the next.
func intactLines(file io.ReaderAt, size int64) iter.Seq2[[]byte, body] {
	return func(yield func([]byte, body) bool) {
		reader := newLineReader(file, 0, min(size, scanLimit), firstRead)
		for {
			raw, _, err := reader.next()
			if err != nil && err != errBroken {
				return
			}
			key, text, err := splitLine(trimSeparator(raw))
			if err == nil && !yield(key, text) {
				return
			}
		}
	}
}
