package storage

import (
	"bytes"
	"errors"
	"hash/crc32"
	"strconv"
	"strings"
)

// A record has one text everywhere: its own JSON object with the bookkeeping
// last, so that it is cut off without parsing,
//
//	{"id":"thread-a",...,"revision":3,"seq":120}
//
// and on a line of the state file the key before it and a checksum of all of
// the line behind it:
//
//	"thread/thread-a":{"id":"thread-a",...,"revision":3,"seq":120,"crc":"1f2e3d4c"},

// body is the text of a record with revision and seq, without the checksum.
type body []byte

// checksumSize is the length of `,"crc":"1f2e3d4c"}`.
const checksumSize = 18

// errBroken says that a line does not hold what was written there.
var errBroken = errors.New("checksum does not match")

// seal appends to line, which ends in a closing brace, the checksum of all
// before that brace, and the brace again.
func seal(line []byte) []byte {
	line = line[:len(line)-1]
	sum := checksum(line)
	line = append(line, `,"crc":"`...)
	line = append(line, sum[:]...)
	return append(line, `"}`...)
}

// checksum is the CRC-32 of text in hex. Its table costs a process that
// starts less than that of other polynomials.
func checksum(text []byte) (hex [8]byte) {
	sum := crc32.ChecksumIEEE(text)
	for i := range hex {
		hex[i] = "0123456789abcdef"[sum>>(28-4*i)&15]
	}
	return hex
}

// unseal returns the length of line without checksum and brace, after
// comparing it.
func unseal(line []byte) (int, error) {
	end := len(line) - checksumSize
	if end < 0 || string(line[end:end+8]) != `,"crc":"` || string(line[end+16:]) != `"}` {
		return 0, errBroken
	}
	if sum := checksum(line[:end]); string(line[end+8:end+16]) != string(sum[:]) {
		return 0, errBroken
	}
	return end, nil
}

// newBody gives value, a JSON object, its bookkeeping.
func newBody(value []byte, revision, seq int64) body {
	text := make([]byte, 0, len(value)+64)
	text = append(text, value[:len(value)-1]...)
	if len(value) > 2 {
		text = append(text, ',')
	}
	text = append(text, `"revision":`...)
	text = strconv.AppendInt(text, revision, 10)
	text = append(text, `,"seq":`...)
	text = strconv.AppendInt(text, seq, 10)
	return append(text, '}')
}

// at gives the record another number of the operation that wrote it.
func (text body) at(seq int64) body {
	start, revision, _, _ := text.bookkeeping()
	return newBody(append(bytes.Clone(text[:max(start-1, 1)]), '}'), revision, seq)
}

// record takes text apart. The value is cut out of text itself, which is
// changed by that: the caller owns it.
func (text body) record(key string) (Record, error) {
	start, revision, seq, ok := text.bookkeeping()
	if !ok {
		return Record{}, errBroken
	}
	value := []byte("{}")
	if start > 1 {
		value = text[:start]
		value[start-1] = '}'
	}
	return Record{Key: key, Revision: revision, Seq: seq, Value: value}, nil
}

// bookkeeping finds where `"revision":` begins and reads the two numbers,
// from the end backwards.
func (text body) bookkeeping() (start int, revision, seq int64, ok bool) {
	rest, ended := bytes.CutSuffix(text, []byte("}"))
	rest, seq = cutNumber(rest)
	rest, second := bytes.CutSuffix(rest, []byte(`,"seq":`))
	rest, revision = cutNumber(rest)
	rest, first := bytes.CutSuffix(rest, []byte(`"revision":`))
	ok = ended && second && first && len(rest) > 0 && seq >= 0 && revision >= 0 && max(seq, revision) <= largestNumber
	return len(rest), revision, seq, ok
}

// cutNumber cuts a decimal number off the end of text; it is -1 where there is none.
func cutNumber(text []byte) ([]byte, int64) {
	start, number, place := len(text), int64(0), int64(1)
	for start > 0 && len(text)-start < 18 && text[start-1] >= '0' && text[start-1] <= '9' {
		start--
		number += place * int64(text[start]-'0')
		place *= 10
	}
	if start == len(text) {
		return text, -1
	}
	return text[:start], number
}

// appendLine appends the state file's line for a record, without separator.
func appendLine(line []byte, key string, text body) []byte {
	start := len(line)
	line = append(line, '"')
	line = append(line, key...)
	line = append(line, `":`...)
	line = append(line, text...)
	return append(line[:start], seal(line[start:])...)
}

// splitLine checks one line of the state file, without separator, and
// returns its key and the text of its record, both within line, whose
// checksum is overwritten.
func splitLine(line []byte) (key []byte, text body, err error) {
	key, end, err := lineKey(line)
	if err != nil {
		return nil, nil, err
	}
	line[end] = '}'
	return key, body(line[len(key)+3 : end+1]), nil
}

// lineKey checks a line like splitLine, and leaves it as it is. The text of
// its record ends at end.
func lineKey(line []byte) (key []byte, end int, err error) {
	end, err = unseal(line)
	if err != nil {
		return nil, 0, err
	}
	quote := bytes.Index(line, []byte(`":{`))
	if quote < 1 || line[0] != '"' || quote+2 >= end {
		return nil, 0, errBroken
	}
	return line[1:quote], end, nil
}

// sound reports whether text is a record that every reader reads the same.
func (text body) sound() bool {
	_, _, _, ok := text.bookkeeping()
	return ok && validJSON(text)
}

// validKey reports whether key can stand in the files as it is.
func validKey(key string) bool {
	for i := range len(key) {
		c := key[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '/' || c == '.') {
			return false
		}
	}
	return key != "" && !strings.Contains(key, "..")
}
