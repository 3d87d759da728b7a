package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
)

// Recovery makes the state from whatever is intact: a state file that another
// program has rewritten, else the backup, else nothing, and then all
// operations of the log that follow. The result must be exactly the last
// acknowledged state, so it is refused (T502) where an operation may be
// missing: a gap, damage among the operations that are needed, or less than
// what the damaged files themselves show to have been there.

// base is a state to replay the log onto.
type base struct {
	path    string
	header  header
	fits    integrity
	records map[string]body
}

// attemptAt is one source that a recovery tried.
type attemptAt struct {
	Path    string `json:"path"`
	Problem string `json:"problem"`
}

// recovery is one search for the last acknowledged state.
type recovery struct {
	store    *Store
	segments []*segment
	tried    []attemptAt
	witness  int64 // an operation that is known to have been acknowledged
	witnessd bool  // the files say which operation was the last
	foreign  *base // the state file as another program wrote it
	mode     os.FileMode
}

// recover returns the last acknowledged state, held in memory, or T502. cause is the
// damage that was found.
func (s *Store) recover(cause error) (*state, error) {
	r := &recovery{store: s, mode: 0o644}
	if err := r.readLog(); err != nil {
		return nil, err
	}
	r.used()
	main, err := r.readState(statePath)
	if err != nil {
		return nil, err
	}
	if main != nil {
		if st := r.replay(main); st != nil {
			st.stale = true
			return st, nil
		}
	} else if missing := r.nothing(); missing != nil {
		return nil, missing
	}
	if len(r.tried) == 0 {
		r.tried = append(r.tried, attemptAt{statePath, cause.Error()})
	}
	backup, err := r.readState(backupPath)
	if err != nil {
		return nil, err
	}
	for _, candidate := range []*base{backup, r.logAlone()} {
		if candidate == nil {
			continue
		}
		if st := r.replay(candidate); st != nil {
			return r.restored(st, candidate), nil
		}
	}
	return nil, r.lost()
}

// nothing tells a directory in which no store was ever made, or not to the
// end, from one that has lost everything.
func (r *recovery) nothing() error {
	for _, path := range []string{statePath, backupPath, damagedPath} {
		if r.there(path) {
			return nil
		}
	}
	if r.witness > 0 || len(r.segments) > 0 {
		return nil
	}
	return errcodes.NoStore.With("path", r.store.path)
}

// used takes files beside the records as a trace of some operation.
func (r *recovery) used() {
	if r.there("threads") || r.there("objects") {
		r.witness = max(r.witness, 1)
	}
}

func (r *recovery) there(path string) bool {
	_, err := r.store.disk.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func (r *recovery) readLog() error {
	numbers, err := generations(r.store.disk.Root)
	if err != nil {
		return cannotRead(opsPath, err)
	}
	for _, number := range numbers {
		read, err := readSegment(r.store.disk.Root, number)
		if err != nil {
			r.tried = append(r.tried, attemptAt{generationPath(number), reason(err)})
			continue
		}
		r.segments = append(r.segments, read)
	}
	return nil
}

// readState reads a state file whole. It returns nil where it does not serve,
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
	data := make([]byte, info.Size())
	if n, err := file.ReadAt(data, 0); n < len(data) {
		r.tried = append(r.tried, attemptAt{path, reason(err)})
		return nil, nil
	}
	if path == statePath {
		r.mode = info.Mode()
	}
	return r.parseState(path, data)
}

// parseState reads a state file that may have been written by another program.
func (r *recovery) parseState(path string, data []byte) (*base, error) {
	problem := "it is not valid JSON"
	if gjson.ValidBytes(data) && gjson.ParseBytes(data).IsObject() {
		found, whole := readBase(path, data)
		if err := found.header.known(); err != nil {
			return nil, err
		}
		if whole {
			r.note(found.header.Seq, path)
			return found, nil
		}
		if problem = "a record or the header does not match its checksum"; path == statePath && found.fits != unfit && rewritten(data, found.header) {
			r.foreign = found
		}
	}
	r.tried = append(r.tried, attemptAt{path, problem})
	r.witnessLines(data, path)
	return nil, nil
}

// note takes in that the operation seq is in a file. The backup is the state
// before a later operation.
func (r *recovery) note(seq int64, path string) {
	if path == backupPath {
		seq++
	}
	r.witness, r.witnessd = max(r.witness, seq), true
}

// witnessLines finds the latest operation of which a damaged state file shows a trace.
func (r *recovery) witnessLines(data []byte, path string) {
	if h, ours, err := headerOf(data); ours && err == nil {
		r.note(h.Seq, path)
	}
	for raw := range bytes.Lines(data) {
		raw = bytes.Clone(trimSeparator(bytes.TrimSuffix(raw, []byte("\n"))))
		if _, text, err := splitLine(raw); err == nil {
			if _, _, seq, ok := text.bookkeeping(); ok {
				r.witness = max(r.witness, seq)
			}
		}
	}
}

// readBase reads header and records of any valid JSON that holds them;
// whole when all checksums match.
func readBase(path string, data []byte) (found *base, whole bool) {
	found = &base{path: path, records: map[string]body{}}
	found.header, found.fits = parseHeader(data)
	whole = found.fits == intact
	gjson.GetBytes(data, "records").ForEach(func(key, value gjson.Result) bool {
		if _, twice := found.records[key.Str]; twice || !validKey(key.Str) || !value.IsObject() {
			whole = false
			return true
		}
		line := append([]byte(`"`+key.Str+`":`), compact(value.Raw)...)
		if _, text, err := splitLine(line); err == nil {
			found.records[key.Str] = text
		} else {
			found.records[key.Str] = body(value.Raw)
			whole = false
		}
		return true
	})
	return found, whole && int64(len(found.records)) == found.header.Count
}

// logAlone is the base for the log by itself: its last checkpoint, or its beginning.
func (r *recovery) logAlone() *base {
	for i := len(r.segments) - 1; i >= 0; i-- {
		s := r.segments[i]
		whole := s.before == 0 || len(s.lines) > 0 && gjson.GetBytes(s.lines[0].text, "checkpoint").Bool()
		if whole && s.before >= 0 {
			return &base{path: generationPath(s.generation), records: map[string]body{}, header: header{Seq: s.before, Generation: s.generation}}
		}
	}
	r.tried = append(r.tried, attemptAt{opsPath, "there is neither its beginning nor a checkpoint"})
	return nil
}

// replay applies the log to from. It returns nil, and notes why, when the
// result may lack an operation.
func (r *recovery) replay(from *base) *state {
	st := &state{overlay: from.records, seq: from.header.Seq, generation: from.header.Generation, extra: from.header.Extra, mode: r.mode, small: true}
	for i, s := range r.segments {
		if s.generation < from.header.Generation || s.generation > from.header.Generation && len(s.lines) == 0 && len(s.faults) == 0 {
			continue
		}
		if problem := r.obstacle(s, from, i == len(r.segments)-1); problem != "" {
			r.tried = append(r.tried, attemptAt{generationPath(s.generation), problem})
			return nil
		}
		for _, f := range s.faults {
			st.warnings.Add(logDamage(generationPath(s.generation), f, from.path))
			st.checkpoint = st.checkpoint || !f.isTorn
		}
		if err := st.replay(s.lines); err != nil {
			r.tried = append(r.tried, attemptAt{generationPath(s.generation), err.Error()})
			return nil
		}
		st.generation, st.logEnd, st.logSize = s.generation, s.end, s.size
	}
	if st.seq < r.witness {
		r.tried = append(r.tried, attemptAt{from.path, fmt.Sprintf("the log ends at operation %d, but operation %d is known", st.seq, r.witness)})
		return nil
	}
	if len(r.segments) == 0 || r.segments[len(r.segments)-1].generation < st.generation {
		st.checkpoint = true
	}
	return st
}

// obstacle says why the operations of s cannot be relied on, or "".
func (r *recovery) obstacle(s *segment, from *base, last bool) string {
	for _, f := range s.faults {
		before := s.generation == from.header.Generation && f.begin < from.header.Offset
		harmless := last && f.isTail && r.witnessd
		if !before && !harmless {
			return fmt.Sprintf("line %d (bytes %s) is damaged", f.line, f.bytes())
		}
	}
	return ""
}

// restored marks st as made from candidate, and keeps what another program
// added to the state file.
func (r *recovery) restored(st *state, candidate *base) *state {
	st.stale, st.keepBackup = true, true
	st.dropBackup = candidate.path != backupPath && r.there(backupPath)
	source := candidate.path
	if strings.HasPrefix(source, opsPath) {
		source = opsPath
	}
	if r.foreign == nil || r.adopt(st) {
		st.warnings.Add(errcodes.Recovered.Warn("path", statePath, "source", source))
	}
	return st
}

// recoveryReport is the detail recovery of T502.
type recoveryReport struct {
	Tried    []attemptAt `json:"tried"`
	Readable []string    `json:"readable"`
	Commands []string    `json:"commands"`
}

// lost is the end of a recovery that found no right state.
func (r *recovery) lost() error {
	report := recoveryReport{Tried: r.tried, Readable: []string{}, Commands: []string{"leslie doctor", "leslie doctor --repair"}}
	for _, s := range r.segments {
		if len(s.lines) > 0 {
			report.Readable = append(report.Readable, fmt.Sprintf("%s: %d operations", generationPath(s.generation), len(s.lines)))
		}
	}
	return errcodes.StoreCorrupted.With("reason", "state, backup and log are damaged", "path", statePath, "recovery", report)
}
