package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
)

// salvage gathers whatever records are intact anywhere, the newest of each,
// for a store that has lost more than a recovery can make good. The damaged
// files are kept under damaged/.
func (s *Store) salvage(name string) (*state, error) {
	r := &recovery{store: s}
	if err := r.readLog(); err != nil {
		return nil, err
	}
	st := &state{overlay: map[string]body{}, small: true, stale: true, keepBackup: true, dropBackup: true, checkpoint: true}
	newest, read := map[string]int64{}, map[int64]bool{}
	take := func(key string, text body, seq int64) {
		if seq >= newest[key] && validKey(key) {
			newest[key], st.overlay[key], st.seq = seq, slices.Clone(text), max(st.seq, seq)
		}
	}
	for _, path := range []string{backupPath, statePath} {
		s.salvageState(path, take)
	}
	for _, log := range r.segments {
		st.generation = max(st.generation, log.generation)
		for _, op := range append(log.lines, log.strays...) {
			// What is wrong with the rest of a line does not count here.
			_ = op.apply(func() {}, func(key string, text body) {
				seq := op.seq
				if text != nil {
					_, _, seq, _ = text.bookkeeping()
				}
				take(key, text, seq)
			})
			st.seq = max(st.seq, op.seq)
			read[op.seq] = true
		}
	}
	kept, err := s.keepDamaged(name)
	if err != nil {
		return nil, cannotWrite(damagedPath, err)
	}
	st.warnings.Add(errcodes.Salvaged.Warn("records", live(st.overlay), "lost", missing(read, st.seq), "kept", kept))
	return st, nil
}

// salvageState takes the intact lines of a state file.
func (s *Store) salvageState(path string, take func(string, body, int64)) {
	file, err := openRegular(s.disk.Root, path, 0, 0)
	if err != nil {
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return
	}
	each := func(key string, text body) {
		if _, _, seq, ok := text.bookkeeping(); ok {
			take(key, text, seq)
		}
	}
	if found, valid := readForeign(path, file, info.Size()); valid {
		for key, text := range found.records {
			each(key, text)
		}
	}
	for key, text := range intactLines(file, info.Size()) {
		each(string(key), text)
	}
}

// keepDamaged gives state and backup a second name under damaged/, where they stay.
func (s *Store) keepDamaged(name string) (dir string, err error) {
	dir = damagedPath + "/" + name
	if _, err := s.makeDirs(dir); err != nil {
		return "", err
	}
	for _, path := range []string{statePath, backupPath} {
		if err := s.disk.Link(path, dir+"/"+path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return dir, s.disk.SyncDir(dir)
}

func live(records map[string]body) (count int) {
	for _, text := range records {
		if text != nil {
			count++
		}
	}
	return count
}

// missing names the operations up to last that are not in read. After last
// there may have been more, of which no trace is left.
func missing(read map[int64]bool, last int64) string {
	const most = 20
	var ranges []string
	from := int64(1)
	gap := func(to int64) {
		switch {
		case to == from:
			ranges = append(ranges, fmt.Sprint(from))
		case to > from:
			ranges = append(ranges, fmt.Sprintf("%d to %d", from, to))
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(read)) {
		gap(seq - 1)
		from = seq + 1
	}
	gap(last)
	if more := len(ranges) - most; more > 0 {
		ranges = append(ranges[:most], fmt.Sprintf("%d more ranges", more))
	}
	return strings.Join(append(ranges, fmt.Sprintf("all after %d, if there were any", last)), ", ")
}
