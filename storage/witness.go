package storage

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/leslie-sh/leslie/errcodes"
)

// Every file shows more than its own records: that an operation took place.
// The backup is older than the state, a log file is begun behind the one
// before, and a line is written only when the one before it was durable. What
// holds less than any file shows is not the last acknowledged state, however
// whole it is.

// smallestLine is less than the line of any operation takes.
const smallestLine = 80

// unfinished reports whether what a fault covers behind offset, up to which
// the operations are known, may be one line of a writer that died, or is too
// little for any. Of more lines than one all but the last were acknowledged.
func (f fault) unfinished(offset int64) bool {
	from := max(f.begin, offset)
	return f.isTail && (f.end < from+smallestLine || f.last == from)
}

// past reports whether the fault lies among operations that a state holds
// which was written when the log had grown to offset.
func (f fault) past(offset int64) bool {
	return f.begin < offset && (!f.isTail || f.unfinished(offset))
}

// isLost reports whether nothing of a log file is left, nil for none.
func (s *segment) isLost() bool { return s == nil || s.before < 0 && len(s.lines) == 0 }

// lacks reports whether s, nil for none, has lost what may have followed the
// state with header h. A small state follows every operation, so that it needs no log.
func (s *segment) lacks(h header) bool {
	return h.Bytes > smallState && (s.isLost() || s.size < h.Offset)
}

// backupSeq returns the last operation of which the backup shows a trace, going by
// its frame, or by every line where that is damaged; -1 when there is none.
// There is no backup before the second operation.
func (s *Store) backupSeq() (seq int64, damaged bool, err error) {
	backup, err := openTable(s.disk.Root, backupPath)
	switch {
	case err == nil:
		backup.close()
		return backup.header.Seq, false, nil
	case errors.Is(err, errIrregular):
		return -1, false, cannotRead(backupPath, err)
	case errors.Is(err, errcodes.NewerSchema):
		return -1, false, err
	case errors.Is(err, fs.ErrNotExist):
		return -1, false, nil
	}
	r := &recovery{store: s}
	whole, err := r.readState(backupPath)
	if whole != nil { // another program has rewritten it
		return whole.header.Seq, false, err
	}
	return r.witness, true, err
}

// outdated is the error of a state that other files show not to be the last:
// the backup, read before it, or the log file after its own. One in which
// there is no operation yet is left from a rewrite that did not end.
func (s *Store) outdated(st *state, backup int64) error {
	if backup >= st.seq && backup > 0 {
		return fmt.Errorf("%s is the state before a later operation: %w", backupPath, errMisfit)
	}
	path := generationPath(st.generation + 1)
	next, err := readSegment(s.disk.Root, st.generation+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return cannotRead(path, err)
	case next.before > st.seq || len(next.lines)+len(next.faults) > 0:
		return fmt.Errorf("%s goes on: %w", path, errMisfit)
	}
	return nil
}
