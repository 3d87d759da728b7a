// Package storage keeps records and files under one directory so that an
// acknowledged operation is never lost, a failed one leaves nothing behind,
// and no damage is answered with silence (ERR-07).
//
// A record is a JSON object under a key such as "thread/thread-a". Readers
// see one consistent state and take no lock; writers are serialised by one
// lock. Everything an update changes is one line of the write-ahead log under
// ops/: that line on disk is the commit. The state file is the log summed up:
// sorted, one record a line, so that one record is found without reading the
// rest. Whatever of these files is damaged is made anew from the others.
//
// The package knows nothing of threads or commands.
package storage

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math/rand/v2"
	"os"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/retry"
)

// Names of the store's own files, relative to its directory.
const (
	statePath   = "thread_relations.json"
	backupPath  = "thread_relations.json.bak"
	lockPath    = "thread_relations.json.lock"
	holderPath  = "thread_relations.json.holder"
	opsPath     = "ops"
	stagingPath = StagingDir
	damagedPath = "damaged"
	ignorePath  = ".gitignore"
)

// StagingDir is where files stand that an update under way has written and not
// yet put in place. What an update finds there when it begins, it removes.
const StagingDir = "staging"

// SchemaVersion is the newest layout of the files that this package reads
// and the one that it writes.
const SchemaVersion = 1

// Record is one stored object.
type Record struct {
	Key      string
	Revision int64  // how often it was written; 1 after the first time
	Seq      int64  // the operation that wrote it last: the order of recency
	Value    []byte // the JSON object, without revision and seq
}

// Decode stores the record's value in the struct that into points to. Code: T502.
func (r Record) Decode(into any) error {
	if err := json.Unmarshal(r.Value, into); err != nil {
		return errcodes.StoreCorrupted.With("reason", "record "+r.Key+" has an unexpected shape: "+err.Error(), "path", statePath).Because(err)
	}
	return nil
}

// Reader is what a View and a Tx have in common.
type Reader interface {
	// Get returns the record under key, and whether there is one, in the
	// same time at any size of the store. Codes: T502, T506.
	Get(key string) (Record, bool, error)
	// Scan yields the records whose keys begin with prefix, in order of
	// their keys. The Value of a record is valid until the next one is asked
	// for. An error ends the sequence. Codes: T502, T506.
	Scan(prefix string) iter.Seq2[Record, error]
	// Dir is the directory of the store, for the files beside the records.
	Dir() *os.Root
	// Pending returns the files that are committed and not yet in their
	// places; see View.
	Pending(prefix string) ([]File, error)
}

// Operation says, for the log, what an update is and who asked for it.
type Operation struct {
	Name     string // the command, such as "artifact put"
	Operator string // user, agent or system
	Actor    string // the name given with --as
	Reason   string // why, where the caller said so
}

// Commit says what an update is durable as. An update that changed nothing
// was not logged: its OperationID is empty.
type Commit struct {
	OperationID string
	Seq         int64
	Time        time.Time
}

// Options are the store's contacts with the world; the zero Options are the real ones.
type Options struct {
	Now       func() time.Time
	NewID     func() string                               // the random, lower-case part of an id
	Retry     retry.Policy                                // the zero Policy is the schedule of ERR-04
	OnAttempt func(retry.Attempt)                         // hears of every wait for the lock
	DryRun    bool                                        // updates give their verdict and write nothing
	Intercept func(change *Change, do func() error) error // sees every change of the disk, for tests that make it fail
}

func (o Options) orDefault() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	return o
}

// randomID returns 64 random bits in 13 lower-case letters and digits. The
// generator is seeded by the kernel for each process; it need not be secret.
func randomID() string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	var id [13]byte
	bits := rand.Uint64()
	for i := range id {
		id[i] = alphabet[bits&31]
		bits >>= 5
	}
	return string(id[:])
}

// Store is a handle on one directory. It may be used by many goroutines at
// once and holds no lock between calls.
type Store struct {
	path    string
	disk    *Disk
	options Options
}

// Open returns the store in dir. It reads nothing yet. Codes: T503 (dir is no
// directory of its own), T504, T506.
func Open(dir string, options Options) (*Store, error) {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, errcodes.NoStore.With("path", dir).Because(err)
	case err != nil:
		return nil, errcodes.ReadFailed.With("path", dir, "reason", reason(err)).Because(err)
	case !info.IsDir():
		return nil, errcodes.WriteFailed.With("path", dir, "reason", "it is not a directory; symbolic links are not followed")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errcodes.ReadFailed.With("path", dir, "reason", reason(err)).Because(err)
	}
	return &Store{path: dir, disk: &Disk{root, options.Intercept}, options: options.orDefault()}, nil
}

// Close releases the directory.
func (s *Store) Close() error { return s.disk.Close() }

// Dir is the directory of the store.
func (s *Store) Dir() *os.Root { return s.disk.Root }

// View calls read with one consistent state, which holds every operation
// acknowledged before the call. It writes nothing and takes no lock. read may
// be called a second time, with a state recovered from backup and log, when
// damage shows while it reads. Damage that could be recovered from comes
// back as W502. Codes: those of read, T502, T504, T505, T506.
func (s *Store) View(ctx context.Context, read func(*View) error) (errcodes.Warnings, error) {
	state, err := s.load()
	if err != nil {
		return nil, err
	}
	view := &View{state: state, store: s}
	err = read(view)
	if damage := state.damage(); damage != nil {
		state.close()
		if state, err = s.recover(damage); err != nil {
			return nil, err
		}
		view = &View{state: state, store: s}
		err = read(view)
	}
	state.close()
	view.warnings.Add(state.warnings...)
	return view.warnings, err
}

// View is one consistent state of the store.
type View struct {
	*state
	store    *Store
	warnings errcodes.Warnings
}

// Dir is the directory of the store.
func (v *View) Dir() *os.Root { return v.store.disk.Root }

// Warn adds warnings to those that View returns.
func (v *View) Warn(more ...errcodes.Warning) { v.warnings.Add(more...) }

// Update runs change under the lock and commits what it put, deleted and
// published as one operation. When Update returns nil, all of it is durable;
// when it returns an error, none of it has happened, unless the error is
// T507, which says that nobody knows. Like the function of View, change may
// be called again: when damage shows, or a file that it publishes was edited
// meanwhile. Codes: those of change, T501,
// T502, T503, T504, T505, T506, T507.
func (s *Store) Update(ctx context.Context, op Operation, change func(*Tx) error) (Commit, errcodes.Warnings, error) {
	if s.options.DryRun {
		return s.rehearse(ctx, op, change)
	}
	held, err := s.acquire(ctx)
	if err != nil {
		return Commit{}, nil, err
	}
	defer held.release()
	state, err := s.loadToWrite()
	if err != nil {
		return Commit{}, nil, err
	}
	for again := 1; ; again++ {
		tx, commit, err := s.attempt(ctx, state, op, change)
		tx.close()
		damage := tx.damage()
		if again == attempts || commit.OperationID != "" || damage == nil && !errors.Is(err, errMoved) {
			held.release()
			s.nameState(tx)
			return commit, tx.allWarnings(), err
		}
		if state, err = s.renew(damage); err != nil {
			return Commit{}, nil, err
		}
	}
}

// attempts is how often an update is made anew, because damage has shown or
// a file was edited under its hands, before its error is given.
const attempts = 3

// renew gives the state to make an update anew with.
func (s *Store) renew(damage error) (*state, error) {
	if damage != nil {
		st, err := s.recover(damage)
		if err == nil && st.logOnly {
			st, err = s.restore(st)
		}
		return st, err
	}
	return s.loadToWrite()
}

// attempt makes the update on one state and commits it, unless change fails,
// ctx has ended, or damage has shown.
func (s *Store) attempt(ctx context.Context, state *state, op Operation, change func(*Tx) error) (*Tx, Commit, error) {
	tx := newTx(s, state, op)
	err := change(tx)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = tx.damage()
	}
	if err != nil {
		return tx, Commit{}, err
	}
	commit, err := s.commit(tx)
	return tx, commit, err
}

// rehearse gives the verdict of an update and writes nothing.
func (s *Store) rehearse(ctx context.Context, op Operation, change func(*Tx) error) (Commit, errcodes.Warnings, error) {
	var warned errcodes.Warnings
	warnings, err := s.View(ctx, func(view *View) error {
		tx := newTx(s, view.state, op)
		err := change(tx)
		warned = tx.warnings
		return err
	})
	warnings.Add(warned...)
	return Commit{}, warnings, err
}
