package storage

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"maps"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// The judge of the sweep reads the damaged files by himself: what is intact is a
// line that ends in the right CRC-32, and an answer is wrong when it is older
// than any intact line that is left.

// trace is what an intact line proves: that the operation seq took place.
type trace struct {
	path string
	seq  int64
	text string
}

// intactLine reports whether a line, without separator, ends in its own checksum.
func intactLine(line []byte) bool {
	end := len(line) - checksumSize
	return end >= 0 && string(line[end:]) == fmt.Sprintf(`,"crc":"%08x"}`, crc32.ChecksumIEEE(line[:end]))
}

// traces finds every intact line of the files.
func traces(files map[string][]byte) (found []trace) {
	for path, data := range files {
		if path != statePath && path != backupPath && !strings.HasPrefix(path, opsPath+"/") {
			continue
		}
		for line := range bytes.Lines(data) {
			line, ended := bytes.CutSuffix(line, []byte("\n"))
			if head, isHeader := bytes.CutSuffix(line, bytes.TrimSuffix([]byte(headerEnd), []byte("\n"))); isHeader {
				line = append(bytes.TrimRight(bytes.Clone(head), " "), '}')
			}
			line = bytes.TrimSuffix(line, []byte(","))
			if ended && intactLine(line) {
				found = append(found, proves(path, line))
			}
		}
	}
	return found
}

func proves(path string, line []byte) trace {
	t := trace{path: path, text: string(line)}
	switch {
	case bytes.HasPrefix(line, []byte(`{"version":`)) && path == backupPath:
		t.seq = gjson.GetBytes(line, "seq").Int() + 1 // it is the state before a later operation
	case bytes.HasPrefix(line, []byte(`{"version":`)):
		t.seq = max(gjson.GetBytes(line, "seq").Int(), gjson.GetBytes(line, "after").Int())
	case bytes.HasPrefix(line, []byte(`{"seq":`)):
		t.seq = gjson.GetBytes(line, "seq").Int()
	default:
		t.seq = gjson.GetBytes(line[bytes.Index(line, []byte(`":{`))+2:], "seq").Int()
	}
	return t
}

// excusable reports whether nobody could know from the files that anything
// followed the operation seq: no intact line of a later one is left, and the log ends
// as if one writer had died.
func (s *scene) excusable(seq int64, files map[string][]byte) bool {
	files = maps.Clone(files)
	for path, data := range files {
		if path != s.currentLog() && sameJSON(data, s.files[path]) {
			files[path] = s.files[path]
		}
	}
	headed := false
	for _, t := range traces(files) {
		if t.seq > seq && !(t.seq == seq+1 && s.twice(t, files)) {
			return false
		}
		headed = headed || strings.HasPrefix(t.text, `{"version":`) && !strings.HasPrefix(t.path, opsPath)
	}
	log := files[s.currentLog()]
	if h, ours, _ := headerOf(files[statePath]); ours && generationPath(h.Generation) == s.currentLog() {
		if h.Bytes > smallState && h.Offset > int64(len(log)) {
			return false
		}
		log = log[min(h.Offset, int64(len(log))):]
	}
	broken := brokenEnd(log)
	if len(traces(map[string][]byte{s.currentLog(): log})) == 0 && len(traces(map[string][]byte{s.currentLog(): files[s.currentLog()]})) == 0 {
		broken = 0 // nothing is left of it: it is as if it were missing
	}
	return broken == 0 || broken == 1 && headed
}

// twice reports whether t is only that the backup is there, which is the very
// state: so it is when a rewrite has failed in its last step.
func (s *scene) twice(t trace, files map[string][]byte) bool {
	return t.path == backupPath && strings.HasPrefix(t.text, `{"version":`) && bytes.Equal(files[statePath], files[backupPath])
}

// brokenEnd counts the lines behind the last intact one.
func brokenEnd(log []byte) (count int) {
	for line := range bytes.Lines(log) {
		count++
		if body, ended := bytes.CutSuffix(line, []byte("\n")); ended && intactLine(body) {
			count = 0
		}
	}
	return count
}

var newerVersion = regexp.MustCompile(`"version"\s*:\s*[2-9]`)

// newer reports whether a damage has written the number of a later layout.
func (tr trial) newer() bool {
	return newerVersion.Match(tr.files[statePath]) || newerVersion.Match(tr.files[backupPath])
}

// silent reports whether an answer may be given without a warning: the state
// file says the same, or what it once said and the log completes; the log
// has lost nothing; the frame of the backup, which was not needed, is whole.
func (s *scene) silent(tr trial) bool {
	for path, data := range tr.files {
		switch path {
		case statePath:
			if !s.genuine(path, data) && !sameJSON(data, s.files[path]) {
				return false
			}
		case backupPath:
			if _, ours, err := headerOf(data); data != nil && !sameJSON(data, s.files[path]) && (!ours || err != nil || len(data) != len(s.files[path]) && !s.genuine(path, data)) {
				return false
			}
		case s.currentLog():
			if !bytes.HasPrefix(data, s.files[path]) || bytes.HasSuffix(data, []byte("\n")) {
				return false
			}
		}
	}
	return true
}

// genuine reports whether data is what the file at path once was.
func (s *scene) genuine(path string, data []byte) bool {
	for _, then := range s.past {
		if old, found := then.files[path]; found && data != nil && bytes.Equal(old, data) {
			return true
		}
	}
	return false
}

// seqOf returns the operation after which the store held this, or -1.
func (s *scene) seqOf(held map[string]string) int64 {
	for seq := s.last(); seq >= 0; seq-- {
		if maps.Equal(s.past[seq].held, held) {
			return seq
		}
	}
	return -1
}

// unsaved names an intact record of which a salvage has kept neither it nor a later one, or "".
func unsaved(files map[string][]byte, held map[string]string) string {
	newest, gone := map[string]int64{}, map[string]int64{}
	take := func(key string, record gjson.Result) {
		newest[key] = max(newest[key], record.Get("seq").Int())
	}
	for _, t := range traces(files) {
		if strings.HasPrefix(t.text, `{"seq":`) {
			gjson.Get(t.text, "put").ForEach(func(key, record gjson.Result) bool { take(key.Str, record); return true })
			for _, key := range gjson.Get(t.text, "del").Array() {
				gone[key.Str] = max(gone[key.Str], t.seq)
			}
		} else if !strings.HasPrefix(t.text, `{"version":`) {
			key, record, _ := strings.Cut(t.text[1:], `":`)
			take(key, gjson.Parse(record))
		}
	}
	for key, seq := range newest {
		var kept int64
		fmt.Sscanf(held[key][strings.LastIndexByte(held[key], ' ')+1:], "s%d", &kept)
		if kept < seq && gone[key] < seq {
			return key
		}
	}
	return ""
}
