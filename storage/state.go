package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
)

// state is everything there is after the operation seq: the records of the
// table, and over them what later operations of the log put or deleted. After
// a recovery there is no table, and overlay holds every record.
type state struct {
	table   *table
	overlay map[string]body // nil for a deleted record
	order   []string        // the keys of overlay, sorted; nil until asked for

	seq        int64
	generation int64
	logEnd     int64  // where the next line of the log goes
	logSize    int64  // the size of the log file; more than logEnd when its tail is torn
	extra      []byte // members of the header that this version does not know
	mode       os.FileMode
	small      bool

	stale      bool   // the state file has to be written anew, whatever its size
	logOnly    bool   // neither state file nor backup holds what the log gives
	keepBackup bool   // the state file is not fit to become the backup
	dropBackup bool   // the backup is damaged, and there is none to replace it
	checkpoint bool   // the log alone does not give the state: it begins anew
	adopted    []line // records that hold members which another program added
	warnings   errcodes.Warnings
	broken     error // damage that showed while records were read
}

// smallState is the size in bytes up to which the state file is rewritten with every operation.
const smallState = 1 << 20

// load reads the state without a lock. What looks damaged is read once
// more first, because a writer may have come between.
func (s *Store) load() (*state, error) {
	loaded, err := s.read()
	if err != nil || loaded.warnings != nil {
		if err == nil {
			loaded.close()
		}
		loaded, err = s.read()
	}
	var coded *errcodes.Error
	if err == nil || errors.As(err, &coded) {
		return loaded, err
	}
	recovered, err := s.recover(err)
	// The store may have been in the making while it was looked at.
	if loaded, again := s.read(); again == nil {
		return loaded, nil
	}
	return recovered, err
}

// read reads the state file and the operations after it.
func (s *Store) read() (*state, error) {
	// The backup first: what is read after it is newer, whoever writes meanwhile.
	backup, damaged, err := s.backupSeq()
	if err != nil {
		return nil, err
	}
	opened, err := openTable(s.disk.Root, statePath)
	if err != nil {
		return nil, readable(statePath, err)
	}
	st := &state{table: opened, overlay: map[string]body{}, seq: opened.header.Seq, generation: opened.header.Generation,
		extra: opened.header.Extra, mode: opened.mode, small: opened.header.Bytes <= smallState}
	log, err := readSegment(s.disk.Root, st.generation)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		opened.close()
		return nil, readable(generationPath(st.generation), err)
	}
	if err = st.follow(log, opened.header); err == nil {
		err = s.outdated(st, backup)
	}
	if err == nil && st.small {
		err = opened.verify(opened.start, opened.end)
	}
	if err != nil {
		opened.close()
		return nil, err
	}
	if damaged {
		st.warnings.Add(errcodes.Recovered.Warn("path", backupPath, "source", statePath))
		st.stale = true
	}
	return st, nil
}

// readable gives the error of a file that may not be read its code, and
// leaves damage for the recovery.
func readable(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errIrregular) {
		return cannotRead(path, err)
	}
	return err
}

// follow applies the operations of log that are newer than the table. Damage
// in front of them is told and leaves the state right; damage among them is
// an error.
func (st *state) follow(log *segment, h header) error {
	path := generationPath(st.generation)
	if log.lacks(h) {
		return fmt.Errorf("%s, which the state goes on in, is cut: %w", path, errBroken)
	}
	if log == nil {
		st.warnings.Add(errcodes.Recovered.Warn("path", path, "source", statePath))
		st.checkpoint = true
		return nil
	}
	if log.before > st.seq {
		return fmt.Errorf("%s begins behind operation %d: %w", path, log.before, errMisfit)
	}
	st.logEnd, st.logSize = log.end, log.size
	for _, f := range log.faults {
		if log.isLost() {
			st.warnings.Add(logDamage(path, f, statePath))
			st.checkpoint = true
			continue
		}
		if err := st.judge(f, h, path); err != nil {
			return err
		}
	}
	if log.end < h.Offset && !st.checkpoint {
		st.warnings.Add(errcodes.Recovered.Warn("path", path, "source", statePath, "bytes", fmt.Sprintf("%d-%d", log.end, h.Offset)))
		st.checkpoint = true
	}
	return st.replay(log.lines)
}

// judge says what one damaged part of the current log means.
func (st *state) judge(f fault, h header, path string) error {
	switch {
	case f.past(h.Offset):
		st.warnings.Add(logDamage(path, f, statePath))
		st.checkpoint = true
	case f.unfinished(h.Offset) && f.isTorn: // a writer ended in the middle, or is writing now
	case f.unfinished(h.Offset):
		st.warnings.Add(logDamage(path, f, statePath))
	default:
		return fmt.Errorf("%s, line %d: %w", path, f.line, errBroken)
	}
	return nil
}

func logDamage(path string, f fault, source string) errcodes.Warning {
	return errcodes.Recovered.Warn("path", path, "source", source, "line", f.line, "bytes", f.bytes())
}

// replay applies operations; those that the state holds already are passed over.
func (st *state) replay(lines []opLine) error {
	for _, op := range lines {
		if op.seq <= st.seq {
			continue
		}
		if op.seq != st.seq+1 {
			return fmt.Errorf("operation %d follows %d: %w", op.seq, st.seq, errMisfit)
		}
		if err := op.apply(st.clear, func(key string, text body) { st.overlay[key] = text }); err != nil {
			return err
		}
		st.seq = op.seq
	}
	return nil
}

// clear forgets every record.
func (st *state) clear() {
	st.overlay = map[string]body{}
	if st.table != nil {
		st.table.start = st.table.end
	}
}

// Get returns the record under key.
func (st *state) Get(key string) (Record, bool, error) {
	text, err := st.text(key)
	if err != nil || text == nil {
		return Record{}, false, err
	}
	record, err := text.record(key)
	return record, err == nil, st.note(err)
}

// text returns the caller's own copy of a record, or nil.
func (st *state) text(key string) (body, error) {
	if text, found := st.overlay[key]; found || st.table == nil {
		return slices.Clone(text), nil
	}
	_, text, err := st.table.search(key)
	return text, st.note(err)
}

// Scan yields the records whose keys begin with prefix.
func (st *state) Scan(prefix string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for line, err := range st.lines(prefix) {
			if err == nil {
				var record Record
				if record, err = line.text.record(line.key); err == nil {
					if !yield(record, nil) {
						return
					}
					continue
				}
			}
			yield(Record{}, st.note(err))
			return
		}
	}
}

// lines merges table and overlay, in order of keys.
func (st *state) lines(prefix string) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		newer := st.newer(prefix)
		emit := func(key string) bool {
			text := st.overlay[key]
			return text == nil || yield(line{key, slices.Clone(text)}, nil)
		}
		for old, err := range st.older(prefix) {
			if err != nil {
				yield(line{}, err)
				return
			}
			for len(newer) > 0 && newer[0] < old.key {
				if !emit(newer[0]) {
					return
				}
				newer = newer[1:]
			}
			if len(newer) > 0 && newer[0] == old.key {
				continue
			}
			if !yield(old, nil) {
				return
			}
		}
		for _, key := range newer {
			if !emit(key) {
				return
			}
		}
	}
}

// older yields the table's lines with prefix.
func (st *state) older(prefix string) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		if st.table == nil {
			return
		}
		at, room, err := st.table.start, st.table.room(), error(nil)
		if prefix != "" {
			room = firstRead
			at, _, err = st.table.search(prefix)
		}
		if err != nil {
			yield(line{}, err)
			return
		}
		for old, err := range st.table.lines(at, room) {
			if err == nil && !strings.HasPrefix(old.key, prefix) || !yield(old, err) {
				return
			}
		}
	}
}

// newer returns the overlay's keys with prefix, sorted.
func (st *state) newer(prefix string) []string {
	if st.order == nil {
		st.order = slices.Sorted(maps.Keys(st.overlay))
	}
	from, _ := slices.BinarySearch(st.order, prefix)
	to := from
	for to < len(st.order) && strings.HasPrefix(st.order[to], prefix) {
		to++
	}
	return st.order[from:to]
}

// note remembers damage, so that View and Update recover and read again.
func (st *state) note(err error) error {
	if err != nil && (errors.Is(err, errMisfit) || errors.Is(err, errBroken)) {
		st.broken = err
	}
	return err
}

// damage returns what was found broken while records were read, or nil.
func (st *state) damage() error { return st.broken }

func (st *state) close() {
	if st.table != nil {
		st.table.close()
	}
}
