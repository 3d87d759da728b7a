package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
)

// The write-ahead log is a row of files, ops/<generation>.jsonl. A file
// begins with a line that names its generation and the operation before it;
// each further line is one operation:
//
//	{"seq":12,"id":"op-...","time":"...","operation":"spawn","operator":"agent","actor":"ada","put":{KEY:RECORD,...},"del":[KEY,...],"files":[...],"crc":"..."}
//
// Numbers follow each other without a gap, over the files too, so that a
// line that is missing is noticed as much as one that is damaged. An
// operation with "checkpoint":true forgets every record: with those behind it,
// it says again what there is, and what came before is not needed to rebuild
// the state.

// generationPath names the log file of a generation.
func generationPath(generation int64) string {
	return opsPath + "/" + strconv.FormatInt(generation, 10) + ".jsonl"
}

// generations lists the generations of which there is a log file, ascending.
func generations(root *os.Root) ([]int64, error) {
	entries, err := ReadDir(root, opsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []int64
	for _, entry := range entries {
		generation, ok := number(strings.TrimSuffix(entry.Name(), ".jsonl"))
		if ok && generation > 0 && generationPath(generation) == opsPath+"/"+entry.Name() {
			found = append(found, generation)
		}
	}
	slices.Sort(found)
	return found, nil
}

// segment is one log file, read and checked.
type segment struct {
	generation int64
	before     int64    // the operation before the first of this file; -1 when its first line is damaged
	lines      []opLine // the intact operations, ascending, without a gap up to the first fault
	end        int64    // behind the last line that ends in a newline and is intact, and has no fault before it
	size       int64    // of the file
	faults     []fault
	strays     []opLine // intact operations that do not follow the one before them; only a salvage takes them
}

// opLine is one intact operation of the log.
type opLine struct {
	seq  int64
	text []byte
}

// fault is one damaged part of a log file.
type fault struct {
	line   int   // counted from 1
	begin  int64 // its bytes
	end    int64
	last   int64 // where the last of its lines begins
	isTail bool  // nothing intact follows
	isTorn bool  // it is the last line and has no newline
}

func (f fault) bytes() string { return fmt.Sprintf("%d-%d", f.begin, f.end) }

// segmentRoom is the size up to which a log file is read at once and its lines
// are not copied. Of larger ones only what is intact is held.
const segmentRoom = 1 << 20

// readSegment reads a whole log file. The error is that of opening or
// reading (T506); damage is told in the segment.
func readSegment(root *os.Root, generation int64) (*segment, error) {
	file, err := openRegular(root, generationPath(generation), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return parseSegment(generation, file, info.Size())
}

func parseSegment(generation int64, file io.ReaderAt, size int64) (*segment, error) {
	s := &segment{generation: generation, before: -1}
	reader := newLineReader(file, 0, min(size, scanLimit), int(min(size, segmentRoom)))
	last, count := int64(-1), 0
	for ; ; count++ {
		text, begin, err := reader.next()
		if err == io.EOF {
			break
		}
		if err != nil && err != errBroken {
			return nil, cannotRead(generationPath(generation), err)
		}
		seq, ok := int64(0), false
		if err == nil {
			seq, ok = s.accept(text, count, last)
		}
		if !ok {
			s.fail(count+1, begin, reader.begin, err != nil && text != nil)
			continue
		}
		if last >= 0 && seq > last+1 && !s.failing() {
			s.fail(count+1, begin, begin, false)
		}
		last = seq
		s.settle(reader.begin)
		if n := len(s.lines); n > 0 && size > segmentRoom {
			s.lines[n-1].text = bytes.Clone(text)
		}
	}
	if count == 0 {
		s.fail(1, 0, 0, true)
	}
	s.size = reader.end
	if size > scanLimit {
		s.fail(count+1, reader.end, size, false)
		s.size = size
	}
	return s, nil
}

// accept takes in one line when it is intact and follows the one before.
func (s *segment) accept(text []byte, count int, last int64) (seq int64, ok bool) {
	if _, err := unseal(text); err != nil {
		return 0, false
	}
	if count == 0 {
		before, ok := number(gjson.GetBytes(text, "after").Raw)
		if !ok || string(firstLine(s.generation, before)) != string(text)+"\n" {
			s.stray(text)
			return 0, false
		}
		s.before = before
		return before, true
	}
	seq, ok = leadingSeq(text)
	if !ok || last >= 0 && seq <= last {
		s.stray(text)
		return 0, false
	}
	s.lines = append(s.lines, opLine{seq: seq, text: text})
	return seq, true
}

// stray keeps an operation that stands in the wrong place.
func (s *segment) stray(text []byte) {
	if seq, ok := leadingSeq(text); ok {
		s.strays = append(s.strays, opLine{seq: seq, text: bytes.Clone(text)})
	}
}

// fail notes a damaged line; one directly behind another is the same fault.
func (s *segment) fail(number int, begin, end int64, torn bool) {
	if n := len(s.faults); n > 0 && s.faults[n-1].end == begin && s.faults[n-1].isTail {
		s.faults[n-1].end, s.faults[n-1].last, s.faults[n-1].isTorn = end, begin, false
		return
	}
	s.faults = append(s.faults, fault{line: number, begin: begin, end: end, last: begin, isTail: true, isTorn: torn})
}

// failing reports whether the line before the present one is part of a fault.
func (s *segment) failing() bool { return len(s.faults) > 0 && s.faults[len(s.faults)-1].isTail }

// settle notes that an intact line ends at end.
func (s *segment) settle(end int64) {
	if n := len(s.faults); n > 0 {
		s.faults[n-1].isTail = false
	} else {
		s.end = end
	}
}

// leadingSeq reads the number at the start of a line of the log.
func leadingSeq(text []byte) (int64, bool) {
	rest, found := bytes.CutPrefix(text, []byte(`{"seq":`))
	comma := bytes.IndexByte(rest, ',')
	if !found || comma < 0 {
		return 0, false
	}
	return number(string(rest[:comma]))
}

// firstLine is the line with which the log file of a generation begins.
func firstLine(generation, after int64) []byte {
	line := fmt.Appendf(nil, `{"version":%d,"generation":%d,"after":%d}`, SchemaVersion, generation, after)
	return append(seal(line), '\n')
}

// entry is what one operation did, as the log keeps it.
type entry struct {
	Seq        int64      `json:"seq"`
	ID         string     `json:"id"`
	Time       time.Time  `json:"time"`
	Operation  string     `json:"operation"`
	Operator   string     `json:"operator,omitempty"`
	Actor      string     `json:"actor,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	Checkpoint bool       `json:"checkpoint,omitempty"`
	Put        rawRecords `json:"put,omitempty"`
	Deleted    []string   `json:"del,omitempty"`
	Files      []File     `json:"files,omitempty"`
}

// rawRecords are records by key, in the order of writing.
type rawRecords []line

// MarshalJSON writes the records as one object.
func (records rawRecords) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, record := range records {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = append(out, record.key...)
		out = append(append(out, `":`...), record.text...)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads the records from one object.
func (records *rawRecords) UnmarshalJSON(data []byte) error {
	gjson.ParseBytes(data).ForEach(func(key, value gjson.Result) bool {
		*records = append(*records, line{key.Str, body(value.Raw)})
		return true
	})
	return nil
}

// line gives the entry as it stands in the log at path, with its newline. One
// that is longer than what readers take is refused (T503).
func (e *entry) line(path string) ([]byte, error) {
	text, err := encode(e)
	if err != nil {
		return nil, errcodes.StoreCorrupted.With("reason", "a record that is kept is not valid JSON: "+err.Error(), "path", statePath).Because(err)
	}
	if size := len(text) + checksumSize; size > lineLimit {
		return nil, errcodes.WriteFailed.With("path", path, "reason", fmt.Sprintf("the operation takes %d bytes of the log, and one may take %d", size, lineLimit)).
			Having("hint", "Do it in several smaller operations")
	}
	return append(seal(text), '\n'), nil
}

// entry reads the whole line.
func (o opLine) entry() (*entry, error) {
	var e entry
	err := json.Unmarshal(o.text, &e)
	return &e, err
}

// apply calls put for every record that the line wrote, with nil for those
// it deleted, and clear first when it is a checkpoint. The texts lie within
// line. It fails where the line, whose checksum is right, is not as this package
// writes it, so that no two readers take it differently.
func (o opLine) apply(clear func(), put func(key string, text body)) (err error) {
	if !validJSON(o.text) {
		return fmt.Errorf("operation %d is not valid JSON: %w", o.seq, errMisfit)
	}
	seen := map[string]bool{}
	gjson.ParseBytes(o.text).ForEach(func(key, value gjson.Result) bool {
		if seen[key.Str] || key.Str == "checkpoint" && seen["put"] {
			err = fmt.Errorf("operation %d says two things: %w", o.seq, errMisfit)
			return false
		}
		seen[key.Str] = true
		switch key.Str {
		case "checkpoint":
			if value.Bool() {
				clear()
			}
		case "put":
			value.ForEach(func(key, record gjson.Result) bool {
				err = o.give(key.Str, body(record.Raw), put)
				return err == nil
			})
		case "del":
			value.ForEach(func(_, deleted gjson.Result) bool {
				err = o.give(deleted.Str, nil, put)
				return err == nil
			})
		}
		return err == nil
	})
	return err
}

// give passes one record on, unless its key or its bookkeeping is wrong.
func (o opLine) give(key string, text body, put func(key string, text body)) error {
	if _, _, _, ok := text.bookkeeping(); !validKey(key) || text != nil && (!ok || text[0] != '{') {
		return fmt.Errorf("operation %d has a broken record: %w", o.seq, errMisfit)
	}
	put(key, text)
	return nil
}

// encode is encoding/json without the escapes that serve web pages only.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
