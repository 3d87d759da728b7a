package logging

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
)

// Entry is one line of a log, read back.
type Entry struct {
	Time     time.Time
	Level    string // error, warn
	ThreadID string // empty where it concerns none
	Code     string
	Message  string
	Fields   []Field // the rest, in the order of the line
}

// Field is one further key of a line. Every value is text; what was a list or
// an object is compact JSON.
type Field struct{ Key, Value string }

// Parse reads one line. It reports false where the line is no entry, such as
// one that was cut by a full disk.
func Parse(line string) (Entry, bool) {
	fields, ok := split(line)
	if !ok {
		return Entry{}, false
	}
	var e Entry
	stamp, ok := take(&fields, timeKey)
	at, err := time.Parse(time.RFC3339, stamp)
	if !ok || err != nil {
		return Entry{}, false
	}
	e.Time = at
	if e.Level, ok = take(&fields, levelKey); !ok {
		return Entry{}, false
	}
	e.ThreadID, _ = take(&fields, threadKey)
	e.Code, _ = take(&fields, codeKey)
	if e.Message, ok = take(&fields, messageKey); !ok {
		return Entry{}, false
	}
	e.Fields = fields
	return e, true
}

// take removes the first field and returns its value, if it is called key.
func take(fields *[]Field, key string) (string, bool) {
	if len(*fields) == 0 || (*fields)[0].Key != key {
		return "", false
	}
	value := (*fields)[0].Value
	*fields = (*fields)[1:]
	return value, true
}

func split(line string) ([]Field, bool) {
	var fields []Field
	for rest := line; rest != ""; {
		key, after, ok := word(rest, "=")
		if !ok || !strings.HasPrefix(after, "=") {
			return nil, false
		}
		value, after, ok := word(after[1:], " ")
		if !ok || after == " " {
			return nil, false
		}
		fields = append(fields, Field{key, value})
		rest = strings.TrimPrefix(after, " ")
	}
	return fields, true
}

// word reads a quoted or bare word up to one of the bytes in stop.
func word(s, stop string) (value, rest string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", "", false
		}
		value, err = strconv.Unquote(quoted)
		rest = s[len(quoted):]
		return value, rest, err == nil && (rest == "" || strings.HasPrefix(rest, stop))
	}
	end := strings.IndexAny(s, stop)
	if end < 0 {
		end = len(s)
	}
	if strings.ContainsAny(s[:end], "\"= \n") {
		return "", "", false
	}
	return s[:end], s[end:], end > 0
}

// Read returns the last limit entries of the given files, the newest last; 0
// and less is no limit. Files that do not exist have none, lines that are no
// entries are left out. T506 where a file cannot be read.
func Read(files []string, limit int) ([]Entry, error) {
	var all []Entry
	for _, file := range files {
		lines, err := lastLines(file, limit)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			if e, ok := Parse(line); ok {
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	if limit > 0 && len(all) > limit {
		all = all[len(all)-limit:]
	}
	return all, nil
}

// block is how much is read at once, from the end backwards.
const block = 64 << 10

// lastLines returns the last limit complete lines of a file.
func lastLines(file string, limit int) ([]string, error) {
	f, err := openRead(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(file, err)
	}
	defer f.Close()
	start, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, unreadable(file, err)
	}
	var blocks [][]byte
	for found := 0; start > 0 && (limit <= 0 || found <= limit); {
		size := min(block, start)
		start -= size
		read := make([]byte, size)
		if _, err := f.ReadAt(read, start); err != nil && err != io.EOF {
			return nil, unreadable(file, err)
		}
		found += bytes.Count(read, []byte("\n"))
		blocks = append(blocks, read)
	}
	slices.Reverse(blocks)
	return complete(bytes.Join(blocks, nil), limit), nil
}

// complete returns the last limit complete lines of text.
func complete(text []byte, limit int) []string {
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	if len(text) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if limit > 0 && len(lines) > limit {
		lines = lines[len(lines)-limit:]
	}
	return lines
}

// openRead opens a log for reading; only regular files are logs.
func openRead(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errRefused
	}
	return f, nil
}

func unreadable(file string, err error) error {
	reason := err
	var inPath *os.PathError
	if errors.As(err, &inPath) {
		reason = inPath.Err
	}
	return errcodes.ReadFailed.With("path", file, "reason", reason.Error()).Because(err)
}
