package storage

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/leslie-sh/leslie/errcodes"
)

// When the log has grown by logGrowth bytes, a state too large to be rewritten
// each time is rewritten; a twentieth of a large state counts, too, so that
// the writing stays in proportion, up to logMost: every reader goes through it. A rewrite begins a new log file where the
// one before has logFile bytes: every command reads all of it.
const (
	logGrowth    = 256 << 10
	logFile      = 64 << 10
	logMost      = 512 << 10
	logShare     = 20
	writeBuffer  = 256 << 10
	stateNewMode = 0o644
)

// commit makes the update durable: its line in the log, then its files, then,
// where it is due, the state file. A failure before that line
// leaves nothing behind (T503); one after it is only told (W503),
// because the operation is safe.
func (s *Store) commit(tx *Tx) (Commit, error) {
	if !tx.changed() {
		return Commit{}, nil
	}
	if tx.seq >= largestNumber {
		return Commit{}, numbersEnd(statePath)
	}
	if err := s.commitStaging(tx); err != nil {
		return Commit{}, err
	}
	write := s.appendLine
	if tx.checkpoint {
		write = s.beginAgain
	}
	if err := write(tx); err != nil {
		return Commit{}, err
	}
	tx.seq++
	tx.logged = true
	s.settle(tx)
	return Commit{OperationID: tx.id, Seq: tx.seq, Time: tx.now}, nil
}

// settle does what follows a commit and can be done again later.
func (s *Store) settle(tx *Tx) {
	if err := s.publish(tx.id, tx.files, false); err != nil {
		tx.Warn(errcodes.StateNotRewritten.Warn("path", publishedPath(err), "reason", reason(err)))
	}
	for _, dir := range tx.dirs {
		if _, err := s.makeDirs(dir); err != nil {
			tx.Warn(errcodes.StateNotRewritten.Warn("path", dir, "reason", reason(err)))
		}
	}
	if tx.checkpoint {
		return
	}
	if !s.rewriteDue(tx.state) {
		_ = s.disk.Remove(backupPath + ".tmp") // of a process that died; else the next rewrite does
		return
	}
	if err := s.orRecover(tx.state, s.supersede); err != nil {
		tx.Warn(errcodes.StateNotRewritten.Warn("path", statePath, "reason", reason(err)))
		return
	}
	tx.renamed = true
}

// nameState makes the names of state and backup durable. It needs no lock:
// the operation is safe in the log, whichever of the states, all of them
// whole, a power cut leaves under the name, and whoever writes next makes the
// names of both durable before its answer.
func (s *Store) nameState(tx *Tx) {
	if !tx.renamed {
		return
	}
	if err := s.disk.SyncDir("."); err != nil {
		tx.Warn(errcodes.StateNotRewritten.Warn("path", statePath, "reason", reason(err)))
	}
}

func (s *Store) rewriteDue(st *state) bool {
	if st.small || st.stale || st.table == nil {
		return true
	}
	h := st.table.header
	return st.logEnd-h.Offset > min(max(logGrowth, h.Bytes/logShare), logMost)
}

// appendLine adds the update's line to the current log file and makes it durable.
func (s *Store) appendLine(tx *Tx) error {
	path := generationPath(tx.generation)
	line, err := tx.entry().line(path)
	if err != nil {
		return err
	}
	file, err := s.disk.openToWrite(path)
	if err != nil {
		return cannotWrite(path, err)
	}
	defer file.Close()
	if tx.logSize > tx.logEnd {
		if err := file.Truncate(tx.logEnd); err != nil {
			return cannotWrite(path, err)
		}
	}
	if _, err := file.WriteAt(line, tx.logEnd); err != nil {
		return s.cutBack(file, tx, cannotWrite(path, err))
	}
	if err := s.syncLine(file, line, tx); err != nil {
		return err
	}
	tx.logEnd += int64(len(line))
	tx.logSize = tx.logEnd
	return nil
}

// cutBack removes a line that was not committed and returns failed. Where the
// line cannot be cut off either, it may be there whole (T507).
func (s *Store) cutBack(file *Handle, tx *Tx, failed error) error {
	if err := file.Truncate(tx.logEnd); err != nil {
		return outcomeUnknown(tx, errors.Join(failed, err))
	}
	return failed
}

// outcomeUnknown says that nobody knows whether the update was committed. Who
// writes next finds out, and needs what was staged if it was.
func outcomeUnknown(tx *Tx, cause error) error {
	tx.logged = true
	unknown := errcodes.OutcomeUnknown.With("operationId", tx.id, "reason", reason(cause)).Because(cause)
	unknown.Effect = errcodes.Unknown
	return unknown
}

// syncLine makes the line durable. After a failed fsync the kernel forgets
// which pages it has lost, so the same pages are never synced again: the line
// is cut off and written afresh. When that fails too, nobody knows whether
// the line will be there after a crash (T507).
func (s *Store) syncLine(file *Handle, line []byte, tx *Tx) error {
	first := file.syncData()
	if first == nil {
		return nil
	}
	if err := file.Truncate(tx.logEnd); err == nil {
		if _, err := file.WriteAt(line, tx.logEnd); err == nil {
			if err := file.syncData(); err == nil {
				return nil
			}
		}
	}
	return s.cutBack(file, tx, outcomeUnknown(tx, first))
}

func (s *Store) makeOps() error {
	if err := s.disk.Mkdir(opsPath); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return s.disk.SyncDir(".")
}

// orRecover writes the state file anew; where the old one turns out to be
// damaged, from the log.
func (s *Store) orRecover(st *state, write func(*state) error) error {
	err := write(st)
	if err == nil || !errors.Is(err, errMisfit) {
		return err
	}
	recovered, err := s.recover(err)
	if err != nil {
		return err
	}
	st.warnings.Add(recovered.warnings...)
	return write(recovered)
}

// rewrite replaces the state file, durably.
func (s *Store) rewrite(st *state) error {
	if err := s.supersede(st); err != nil {
		return err
	}
	return s.disk.SyncDir(".")
}

// supersede replaces the state file by one that holds every operation so far,
// and makes the old one the backup when it was right. Both are whole on the
// disk; that their names are is up to the caller, but for a state that names a
// new log file, to which nobody must write before.
func (s *Store) supersede(st *state) error {
	h := header{Version: SchemaVersion, Seq: st.seq, Generation: st.generation, Offset: st.logEnd, Extra: st.extra}
	rotated := st.logEnd > logFile
	if rotated {
		if err := s.rotate(&h); err != nil {
			return err
		}
	}
	temporary := statePath + ".tmp"
	file, err := s.createNew(temporary, fileMode(st.mode))
	if err != nil {
		return err
	}
	if err = s.writeState(file, h, st); err == nil {
		err = file.Sync()
	}
	if err := file.Finish(err); err != nil {
		return err
	}
	if err := s.disk.Remove(backupPath + ".tmp"); err != nil { // of a process that died
		return errors.Join(err, s.disk.Remove(temporary))
	}
	if st.table != nil && !st.keepBackup {
		if err := s.backUp(); err != nil {
			return errors.Join(err, s.disk.Remove(temporary))
		}
	}
	if err := s.disk.Rename(temporary, statePath); err != nil {
		return errors.Join(err, s.disk.Remove(temporary))
	}
	if st.dropBackup {
		if err := s.disk.Remove(backupPath); err != nil {
			return err
		}
	}
	if rotated {
		return s.disk.SyncDir(".")
	}
	return nil
}

func fileMode(mode os.FileMode) os.FileMode {
	if mode.Perm() == 0 {
		return stateNewMode
	}
	return mode.Perm()
}

// rotate begins the next log file; operations that the state file holds stay in the old one.
func (s *Store) rotate(h *header) error {
	if h.Generation >= largestNumber {
		return numbersEnd(opsPath)
	}
	first := firstLine(h.Generation+1, h.Seq)
	if err := s.replace(generationPath(h.Generation+1), opsPath, stateNewMode, first); err != nil {
		return err
	}
	h.Generation, h.Offset = h.Generation+1, int64(len(first))
	return nil
}

// writeState writes all of a state file, the header last, because it counts the rest.
func (s *Store) writeState(file *Handle, h header, st *state) error {
	h.Bytes = int64(h.size())
	file.at = h.Bytes
	room := writeBuffer
	if st.table != nil {
		room = st.table.room()
	}
	out := bufio.NewWriterSize(file, room)
	records := &summing{out: out}
	var text []byte
	for record, err := range st.lines("") {
		if err != nil {
			return err
		}
		if text = text[:0]; h.Count > 0 {
			text = append(text, ",\n"...)
		}
		text = appendLine(text, record.key, record.text)
		if _, err := records.Write(text); err != nil {
			return err
		}
		h.Bytes += int64(len(text))
		h.Count++
	}
	if h.Count > 0 {
		records.Write([]byte("\n"))
		h.Bytes++
	}
	end := records.footer()
	out.WriteString(end)
	h.Bytes += int64(len(end))
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := file.WriteAt(h.line(), 0)
	return err
}

// backUp makes the state file the backup too: a second name for it where the
// file system has hard links, else a copy. Renaming one name of a file to
// another of the same file leaves both, so the temporary name goes in any case.
func (s *Store) backUp() error {
	temporary := backupPath + ".tmp"
	if err := s.disk.Link(statePath, temporary); err != nil {
		if err := s.copyState(temporary); err != nil {
			return err
		}
	}
	err := s.disk.Rename(temporary, backupPath)
	return errors.Join(err, s.disk.Remove(temporary))
}

func (s *Store) copyState(to string) error {
	from, err := openRegular(s.disk.Root, statePath, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	return s.writeNew(to, stateNewMode, data)
}
