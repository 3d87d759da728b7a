package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
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
	whole   bool // of a foreign file: all its checksums match
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
	if main == nil {
		if missing := r.nothing(); missing != nil {
			return nil, missing
		}
	}
	backup, err := r.readState(backupPath)
	if err != nil {
		return nil, err
	}
	if main != nil {
		if st := r.replay(main); st != nil {
			return r.served(st, backup), nil
		}
	}
	if len(r.tried) == 0 {
		r.tried = append(r.tried, attemptAt{statePath, cause.Error()})
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
// end (init writes the state last), from one that has lost everything.
func (r *recovery) nothing() error {
	for _, path := range []string{statePath, backupPath, damagedPath} {
		if r.there(path) {
			return nil
		}
	}
	made := func(s *segment) bool { return s.before != 0 || len(s.lines)+len(s.faults) > 0 }
	if r.witness > 0 || slices.ContainsFunc(r.segments, made) {
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
		if errors.Is(err, errcodes.ReadFailed) {
			return err
		}
		if err != nil {
			r.tried = append(r.tried, attemptAt{generationPath(number), reason(err)})
			continue
		}
		r.segments = append(r.segments, read)
	}
	return nil
}

// note takes in that the operation seq is in a file. The backup is the state
// before a later operation.
func (r *recovery) note(seq int64, path string) {
	if path == backupPath {
		seq++
	}
	r.witness, r.witnessd = max(r.witness, seq), true
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
	if !r.begins(st, from) {
		return nil
	}
	for i, s := range r.segments {
		begun := s.generation > from.header.Generation && s.before <= st.seq && len(s.lines)+len(s.faults) == 0
		if s.generation < from.header.Generation || begun {
			continue
		}
		if problem := r.obstacle(s, from, st.seq, i == len(r.segments)-1); problem != "" {
			r.tried = append(r.tried, attemptAt{generationPath(s.generation), problem})
			return nil
		}
		for _, f := range s.faults {
			st.warnings.Add(logDamage(generationPath(s.generation), f, from.path))
			st.checkpoint = st.checkpoint || !f.isTorn || f.begin < s.known(from)
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

// begins looks for the log file in which the operations after from are. A state
// that follows every operation serves without it.
func (r *recovery) begins(st *state, from *base) bool {
	var own *segment
	for _, s := range r.segments {
		if s.generation == from.header.Generation {
			own = s
		}
	}
	path := generationPath(from.header.Generation)
	switch {
	case own.lacks(from.header):
		r.tried = append(r.tried, attemptAt{path, "it lacks what followed " + from.path})
		return false
	case own == nil || own.end < from.header.Offset && len(own.faults) == 0:
		st.warnings.Add(errcodes.Recovered.Warn("path", path, "source", from.path))
		st.checkpoint = true
	}
	return true
}

// known is how far into s the state from reaches.
func (s *segment) known(from *base) int64 {
	if s.generation == from.header.Generation {
		return from.header.Offset
	}
	return 0
}

// obstacle says why the operations of s, which follow seq, cannot be relied on, or "".
func (r *recovery) obstacle(s *segment, from *base, seq int64, last bool) string {
	if s.before > seq {
		return fmt.Sprintf("it follows operation %d, but %d is the last that is there", s.before, seq)
	}
	known := s.known(from)
	for _, f := range s.faults {
		harmless := last && r.witnessd && f.unfinished(known) && (known > 0 || s.before >= 0)
		if !f.past(known) && !harmless && !(known > 0 && s.isLost()) {
			return fmt.Sprintf("line %d (bytes %s) is damaged", f.line, f.bytes())
		}
	}
	return ""
}

// served marks st as made from the state file, and tells of a damaged backup.
func (r *recovery) served(st *state, backup *base) *state {
	st.stale = true
	if backup == nil && r.there(backupPath) {
		st.dropBackup = true
		st.warnings.Add(errcodes.Recovered.Warn("path", backupPath, "source", statePath))
	}
	return st
}

// restored marks st as made from candidate, and keeps what another program
// added to the state file.
func (r *recovery) restored(st *state, candidate *base) *state {
	st.stale, st.keepBackup = true, true
	st.logOnly = candidate.path != backupPath
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
