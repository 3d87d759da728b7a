package storage

import (
	"bytes"
	"io"

	"github.com/tidwall/gjson"
)

// Another program, an editor or jq, may rewrite the state file. What it only
// formats is read as it is. Values that it changes are not believed, since
// the log holds the truth; members that it adds, and nothing else, are kept.

// rewritten reports whether another program has written the file, rather
// than something has damaged it in its place.
func rewritten(file io.ReaderAt, size int64, h header) bool {
	start := make([]byte, min(size, headerLimit))
	n, _ := file.ReadAt(start, 0)
	return h.Bytes != size || !bytes.Contains(start[:n], []byte(headerEnd))
}

// adopt keeps members that another program added to records or header of the
// state file, if it did nothing else. It reports whether it did: then nothing
// of the file is believed.
func (r *recovery) adopt(st *state) (changed bool) {
	live := 0
	var adopted []line
	for key, text := range st.overlay {
		theirs, found := r.foreign.records[key]
		if text == nil {
			continue
		}
		live++
		more, differs := foreignMembers(text, theirs)
		if !found || differs {
			return true
		}
		if len(more) > 0 {
			adopted = append(adopted, line{key, text.with(more)})
		}
	}
	if live != len(r.foreign.records) {
		return true
	}
	for _, record := range adopted {
		st.overlay[record.key] = record.text
	}
	st.extra, st.adopted = r.foreign.header.Extra, adopted
	return false
}

// with returns the record with members, given as `,"name":value...`, behind its own.
func (text body) with(members []byte) body {
	start, revision, seq, _ := text.bookkeeping()
	value := append(bytes.Clone(text[:max(start-1, 1)]), members...)
	if start == 1 {
		value = append([]byte{'{'}, members[1:]...)
	}
	return newBody(append(value, '}'), revision, seq)
}

// foreignMembers returns the members of theirs that ours lacks, as
// `,"name":value...`, and whether any other member differs.
func foreignMembers(ours, theirs body) (more []byte, differs bool) {
	mine := map[string]string{}
	gjson.ParseBytes(ours).ForEach(func(key, value gjson.Result) bool {
		mine[key.Str] = string(compact(value.Raw))
		return true
	})
	gjson.ParseBytes(theirs).ForEach(func(key, value gjson.Result) bool {
		have, known := mine[key.Str]
		delete(mine, key.Str)
		switch {
		case key.Str == "crc":
		case !known:
			more = appendMember(more, key.Raw, value.Raw)
		case have != string(compact(value.Raw)):
			differs = true
		}
		return true
	})
	return more, differs || len(mine) > 0
}
