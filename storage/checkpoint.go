package storage

import (
	"bufio"
	"bytes"
	"errors"
	"maps"

	"github.com/leslie-sh/leslie/errcodes"
)

// Where the log does not give the state any more, it begins anew with a
// checkpoint: operations of the system that put every record, as they were
// before the update, about a megabyte each, so that no line grows with the
// store. The first of them forgets what there was. Then comes the update
// itself, like any other. The file appears at once, so that a crash leaves all
// of it or nothing.

// checkpointName is the operation that the lines of a checkpoint carry.
const checkpointName = "checkpoint"

// checkpointShare is how many bytes of records make one operation of a checkpoint.
const checkpointShare = 1 << 20

// beginAgain starts the log anew with a checkpoint and the update. The state file
// must follow before anybody is answered, since it alone names the new log.
func (s *Store) beginAgain(tx *Tx) error {
	if tx.generation >= largestNumber-1 {
		return numbersEnd(opsPath)
	}
	generation, before := tx.generation+1, tx.seq
	path := generationPath(generation)
	if err := s.makeOps(); err != nil {
		return cannotWrite(opsPath, err)
	}
	size, err := s.writeLog(path, tx)
	if err == nil {
		next := *tx.state
		next.generation, next.seq, next.logEnd = generation, tx.seq+1, size
		// The state cannot become the backup, which shows that an operation
		// followed it: that is not certain yet.
		next.keepBackup, next.dropBackup = true, !s.backupWhole()
		if err = s.orRecover(&next, s.rewrite); err != nil {
			path = statePath
		}
	}
	if err != nil {
		tx.seq = before
		if s.goesOnIn(generation) {
			return outcomeUnknown(tx, err)
		}
		if left := errors.Join(s.disk.Remove(generationPath(generation+1)), s.disk.Remove(generationPath(generation))); left != nil {
			return outcomeUnknown(tx, errors.Join(err, left))
		}
		return asWriteFailure(path, err)
	}
	tx.generation, tx.logEnd = generation, size
	return nil
}

// backupWhole reports whether there is a backup that serves.
func (s *Store) backupWhole() bool {
	backup, err := openTable(s.disk.Root, backupPath)
	if err != nil {
		return false
	}
	defer backup.close()
	return backup.verify(backup.start, backup.end) == nil
}

// goesOnIn reports whether the state file names the log file of a generation,
// so that what is in that is done, or may be.
func (s *Store) goesOnIn(generation int64) bool {
	there, err := openTable(s.disk.Root, statePath)
	if err != nil {
		return false
	}
	defer there.close()
	return there.header.Generation >= generation
}

// asWriteFailure gives an error a code, unless it has one.
func asWriteFailure(path string, err error) error {
	var coded *errcodes.Error
	if errors.As(err, &coded) {
		return err
	}
	return cannotWrite(path, err)
}

// writeLog writes a log file of a checkpoint and the update, which it gives the
// numbers that follow, and returns its size.
func (s *Store) writeLog(path string, tx *Tx) (int64, error) {
	temporary := path + ".tmp"
	file, err := s.createNew(temporary, stateNewMode)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(file, writeBuffer)
	out.Write(firstLine(tx.generation+1, tx.seq))
	if err = s.writeCheckpoint(out, path, tx); err == nil {
		err = tx.writeLine(out, path)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	size := file.at
	if err := file.Finish(err); err != nil {
		return 0, err
	}
	if err := s.disk.Rename(temporary, path); err != nil {
		return 0, errors.Join(err, s.disk.Remove(temporary))
	}
	return size, s.disk.SyncDir(opsPath)
}

// writeCheckpoint writes the records as they were before the update, and counts its
// operations in tx.
func (s *Store) writeCheckpoint(out *bufio.Writer, path string, tx *Tx) error {
	part := &entry{Checkpoint: true}
	size := 0
	write := func() error {
		tx.seq++
		part.Seq, part.ID, part.Time = tx.seq, "op-"+s.options.NewID(), tx.now
		part.Operation, part.Operator = checkpointName, "system"
		text, err := part.line(path)
		if err == nil {
			_, err = out.Write(text)
		}
		part, size = &entry{}, 0
		return err
	}
	for record, err := range tx.prior().lines("") {
		if err == nil && size > 0 && size+len(record.text) > checkpointShare {
			err = write()
		}
		if err != nil {
			return tx.note(err)
		}
		part.Put = append(part.Put, line{record.key, bytes.Clone(record.text)})
		size += len(record.key) + len(record.text)
	}
	if size > 0 || part.Checkpoint {
		return write()
	}
	return nil
}

// prior is the state without what the update changes.
func (tx *Tx) prior() *state {
	prior := *tx.state
	prior.overlay, prior.order = maps.Clone(tx.overlay), nil
	maps.Copy(prior.overlay, tx.before)
	return &prior
}

// writeLine writes the line of the update, whose records get the number that it has now.
func (tx *Tx) writeLine(out *bufio.Writer, path string) error {
	for _, key := range tx.written {
		tx.overlay[key] = tx.overlay[key].at(tx.seq + 1)
	}
	text, err := tx.entry().line(path)
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}

// numbersEnd says that there is no next operation, revision or generation: no
// store comes there by use.
func numbersEnd(path string) error {
	return errcodes.StoreCorrupted.With("reason", "its numbers are at their end", "path", path)
}
