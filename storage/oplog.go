package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// The write-ahead log is a row of files, ops/<generation>.jsonl. A file
// begins with a line that names its generation and the operation before it;
// each further line is one operation:
//
//	{"seq":12,"id":"op-...","time":"...","operation":"spawn","operator":"agent","actor":"ada","put":{KEY:RECORD,...},"del":[KEY,...],"files":[...],"crc":"..."}
//
// Numbers follow each other without a gap, over the files too, so that a
// line that is missing is noticed as much as one that is damaged. An
// operation with "checkpoint":true puts every record there is: what came before is
// not needed to rebuild the state.

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
		number, err := strconv.ParseInt(strings.TrimSuffix(entry.Name(), ".jsonl"), 10, 64)
		if err == nil && number > 0 && generationPath(number) == opsPath+"/"+entry.Name() {
			found = append(found, number)
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
	isTail bool // nothing intact follows
	isTorn bool // it is the last line and has no newline
}

func (f fault) bytes() string { return fmt.Sprintf("%d-%d", f.begin, f.end) }

// readSegment reads a whole log file. The error is that of opening or
// reading; damage is told in the segment.
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
	data := make([]byte, info.Size())
	n, err := file.ReadAt(data, 0)
	if err != nil && n < len(data) && n == 0 && len(data) > 0 {
		return nil, err
	}
	return parseSegment(generation, data[:n]), nil
}

func parseSegment(generation int64, data []byte) *segment {
	s := &segment{generation: generation, before: -1, size: int64(len(data))}
	last, number := int64(-1), 0
	for begin := 0; begin < len(data); number++ {
		length := bytes.IndexByte(data[begin:], '\n')
		stop, next := begin+length, begin+length+1
		if length < 0 {
			stop, next = len(data), len(data)
		}
		seq, ok := s.accept(data[begin:stop], number, last)
		if !ok || length < 0 {
			s.fail(number+1, int64(begin), int64(next), length < 0)
		} else {
			last = seq
			s.settle(int64(next))
		}
		begin = next
	}
	if number == 0 {
		s.fail(1, 0, 0, true)
	}
	return s
}

// accept takes in one line when it is intact and follows the one before.
func (s *segment) accept(text []byte, number int, last int64) (seq int64, ok bool) {
	if _, err := unseal(text); err != nil {
		return 0, false
	}
	if number == 0 {
		first := gjson.ParseBytes(text)
		if first.Get("generation").Int() != s.generation || first.Get("version").Int() > SchemaVersion {
			return 0, false
		}
		s.before = first.Get("after").Int()
		return s.before, true
	}
	seq, ok = leadingSeq(text)
	if !ok || last >= 0 && seq <= last {
		return 0, false
	}
	s.lines = append(s.lines, opLine{seq: seq, text: text})
	return seq, true
}

// fail notes a damaged line; one directly behind another is the same fault.
func (s *segment) fail(number int, begin, end int64, torn bool) {
	if n := len(s.faults); n > 0 && s.faults[n-1].end == begin && s.faults[n-1].isTail {
		s.faults[n-1].end, s.faults[n-1].isTorn = end, false
		return
	}
	s.faults = append(s.faults, fault{line: number, begin: begin, end: end, isTail: true, isTorn: torn})
}

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
	seq, err := strconv.ParseInt(string(rest[:comma]), 10, 64)
	return seq, err == nil
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

// line gives the entry as it stands in the log, with its newline.
func (e *entry) line() ([]byte, error) {
	text, err := encode(e)
	if err != nil {
		return nil, err
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
// it deleted, and clear first when it is a checkpoint. The texts lie within line.
func (o opLine) apply(clear func(), put func(key string, text body)) {
	gjson.ParseBytes(o.text).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "checkpoint":
			clear()
		case "put":
			value.ForEach(func(key, record gjson.Result) bool {
				put(key.Str, body(record.Raw))
				return true
			})
		case "del":
			for _, deleted := range value.Array() {
				put(deleted.Str, nil)
			}
		}
		return true
	})
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
