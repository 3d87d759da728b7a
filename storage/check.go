package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
)

// Finding is one broken promise that a check has found.
type Finding struct {
	Subject string // the key or path that it concerns
	Code    errcodes.Code
	Message string
	Repair  func(*Tx) error // mends it within an update; nil where Store.Repair or a person does
}

// Check is the result of examining one kind of promise.
type Check struct {
	Name     string
	Count    int      // how many things were examined
	Notes    []string // what is as it should be, and worth knowing
	Findings []Finding
}

func (c *Check) find(subject, format string, values ...any) {
	c.Findings = append(c.Findings, Finding{Subject: subject, Code: errcodes.StoreCorrupted, Message: fmt.Sprintf(format, values...)})
}

func (c *Check) note(format string, values ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, values...))
}

// Check examines the store's own files: state, backup, every file of the log,
// the state against the log, and what a process that died has left behind. It
// changes nothing. The error is that of a store that cannot be examined at
// all: T504, T505, T506.
func (s *Store) Check() ([]Check, error) {
	state, log := Check{Name: "state"}, Check{Name: "log"}
	records, err := s.checkState(&state, statePath)
	if err != nil {
		return nil, err
	}
	backup := Check{Name: "backup"}
	if _, err := s.checkState(&backup, backupPath); err != nil {
		return nil, err
	}
	replayed := s.checkLog(&log)
	return []Check{state, backup, log, agree(records, replayed), s.places(), s.leftovers()}, nil
}

// checkState reads a state file whole, and returns it when it is right.
func (s *Store) checkState(c *Check, path string) (*base, error) {
	r := &recovery{store: s}
	found, err := r.readState(path)
	if err != nil {
		return nil, err
	}
	if found == nil && path == backupPath && !r.there(path) {
		return nil, nil // none was made yet, or there was none to keep after a recovery
	}
	if found == nil {
		c.find(path, "%s", r.tried[0].Problem)
		return nil, nil
	}
	c.Count = len(found.records)
	if _, err := readFrameAt(s, path); err != nil && !errors.Is(err, errcodes.NewerSchema) {
		c.note("%s was rewritten by another program; the next operation puts it in order", path)
	}
	return found, nil
}

func readFrameAt(s *Store, path string) (header, error) {
	opened, err := openTable(s.disk.Root, path)
	if err != nil {
		return header{}, err
	}
	defer opened.close()
	return opened.header, nil
}

// checkLog reads every file of the log and returns the state that it gives by itself.
func (s *Store) checkLog(c *Check) *base {
	r := &recovery{store: s, witnessd: true}
	if err := r.readLog(); err != nil {
		c.find(opsPath, "%v", err)
		return nil
	}
	start := r.logAlone()
	for _, tried := range r.tried {
		c.find(tried.Path, "%s", tried.Problem)
	}
	if start == nil {
		return nil
	}
	for i, log := range r.segments {
		c.Count += len(log.lines)
		s.checkSegment(c, log, start.header.Generation, i == len(r.segments)-1)
	}
	known := len(r.tried)
	st := r.replay(start)
	if st == nil {
		for _, tried := range r.tried[known:] {
			if len(c.Findings) == 0 {
				c.find(tried.Path, "%s", tried.Problem)
			}
		}
		return nil
	}
	return &base{path: opsPath, header: header{Seq: st.seq, Generation: st.generation}, records: st.overlay}
}

func (s *Store) checkSegment(c *Check, log *segment, needed int64, last bool) {
	path := generationPath(log.generation)
	for _, f := range log.faults {
		switch {
		case log.generation < needed:
			c.note("%s, line %d is damaged; a later checkpoint holds everything", path, f.line)
		case f.isTorn && last:
			c.note("%s ends in an incomplete line, which the next operation cuts", path)
		default:
			c.find(path, "line %d (bytes %s) is damaged", f.line, f.bytes())
		}
	}
}

// agree compares the state file with what the log gives.
func agree(state, log *base) Check {
	c := Check{Name: "state against log"}
	if state == nil || log == nil {
		c.note("cannot be compared")
		return c
	}
	c.Count = len(state.records)
	for key, text := range state.records {
		_, _, seq, _ := text.bookkeeping()
		other, found := log.records[key]
		switch {
		case found && (other == nil || !bytes.Equal(other, text)):
			if _, _, later, ok := other.bookkeeping(); other != nil && ok && later == seq {
				c.find(key, "the state file and the log hold different records")
			}
		case !found:
			c.find(key, "the log does not have this record")
		}
	}
	for key, text := range log.records {
		_, _, seq, _ := text.bookkeeping()
		if _, found := state.records[key]; !found && text != nil && seq <= state.header.Seq {
			c.find(key, "the state file does not have this record")
		}
	}
	return c
}

// places looks whether anything else stands where the store has its own
// files and directories.
func (s *Store) places() Check {
	c := Check{Name: "places"}
	look := func(path string, right func(fs.FileMode) bool) {
		info, err := s.disk.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if c.Count++; err != nil || !right(info.Mode()) {
			c.Findings = append(c.Findings, Finding{Subject: path, Code: errcodes.WriteFailed, Message: errIrregular.Error()})
		}
	}
	for _, path := range []string{lockPath, holderPath, ignorePath} {
		look(path, fs.FileMode.IsRegular)
	}
	for _, path := range []string{opsPath, stagingPath, damagedPath, "objects", "threads", "logs"} {
		look(path, fs.FileMode.IsDir)
	}
	return c
}

// leftovers looks for what the next operation removes or finishes.
func (s *Store) leftovers() Check {
	c := Check{Name: "leftovers"}
	entries, _ := fs.ReadDir(s.disk.FS(), ".")
	pending, _ := ReadDir(s.disk.Root, stagingPath)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".tmp") {
			c.note("%s is left from an operation that did not end", entry.Name())
		}
	}
	for _, entry := range pending {
		c.note("the files of operation %s wait to be put in place or thrown away", entry.Name())
	}
	return c
}
