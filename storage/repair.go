package storage

import (
	"context"
	"errors"

	"github.com/leslie-sh/leslie/errcodes"
)

// Repair makes state file, backup and log whole again, and finishes what a
// process that died had begun. Where the last acknowledged state cannot be
// made out any more (T502), it saves every intact record and keeps the damaged files beside them; W509 then
// says how many, and what is missing. Codes: T501, T503, T505, T506, T507.
func (s *Store) Repair(ctx context.Context, op Operation) (Commit, errcodes.Warnings, error) {
	held, err := s.acquire(ctx)
	if err != nil {
		return Commit{}, nil, err
	}
	defer held.release()
	id := operationPrefix + s.options.NewID()
	st, err := s.loadWhole()
	if errors.Is(err, errcodes.StoreCorrupted) {
		st, err = s.salvage(id)
	}
	if err != nil {
		return Commit{}, nil, err
	}
	st.stale = true
	st.checkpoint = st.checkpoint || !s.logWhole()
	tx := newTx(s, st, op)
	tx.id, tx.forced = id, true
	defer tx.close()
	commit, err := s.commit(tx)
	return commit, tx.allWarnings(), err
}

// loadWhole loads the state after reading every record of it.
func (s *Store) loadWhole() (*state, error) {
	st, err := s.loadToWrite()
	if err != nil {
		return nil, err
	}
	for _, err := range st.lines("") {
		if err != nil {
			st.close()
			return s.recover(err)
		}
	}
	return st, nil
}

// logWhole reports whether the log by itself gives a state.
func (s *Store) logWhole() bool {
	var c Check
	return s.checkLog(&c) != nil && len(c.Findings) == 0
}
