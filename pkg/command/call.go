package command

import (
	"context"
	"io"
	"path/filepath"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/retry"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

// call is one call of a command: its input, its settings, and what it may
// ask of the world. A handler gets it and nothing that could print.
type call struct {
	input
	globals
	ctx      context.Context
	commands commands
	env      environment
	stdin    io.Reader
	dir      string // the working directory
	emit     func(event any) error
	options  storage.Options // of the process, for every store that is opened

	root      string // the directory that holds the store, once it is open
	store     *storage.Store
	warnings  errcodes.Warnings
	onAttempt func(retry.Attempt)

	threadID    string // whom the call concerns, for the log
	objectiveID string
}

// written says what a write is durable as. A dry run is durable as nothing.
type written struct {
	OperationID string `json:"operationId,omitempty"`
	Revision    int64  `json:"revision,omitempty"`
	DryRun      bool   `json:"dryRun,omitempty"`
}

// at returns w with the revision of the record that was changed.
func (w written) at(revision int64) written {
	if !w.DryRun {
		w.Revision = revision
	}
	return w
}

// open finds and opens the store, once.
func (c *call) open() error {
	if c.store != nil {
		return nil
	}
	root, err := findRoot(c.dir, c.globals.root)
	if err != nil {
		return err
	}
	store, err := storage.Open(filepath.Join(root, storeName), c.storage())
	if err != nil {
		return err
	}
	c.root, c.store = root, store
	return nil
}

func (c *call) storage() storage.Options {
	options := c.options
	options.Retry = retry.Policy{Attempts: c.attempts}
	options.OnAttempt = c.onAttempt
	options.DryRun = c.dryRun
	return options
}

// path returns the absolute path of something in the store.
func (c *call) path(elements ...string) string {
	return filepath.Join(append([]string{c.root, storeName}, elements...)...)
}

// view reads from one consistent state. read may run twice.
func view[T any](c *call, read func(*storage.View) (T, error)) (T, error) {
	var result T
	if err := c.open(); err != nil {
		return result, err
	}
	warnings, err := c.store.View(c.ctx, func(v *storage.View) (err error) {
		result, err = read(v)
		return err
	})
	c.warnings.Add(warnings...)
	return result, err
}

// update makes one change and says what it is durable as. change may run twice.
func update[T any](c *call, reason string, change func(*storage.Tx) (T, error)) (T, written, error) {
	var result T
	if err := c.open(); err != nil {
		return result, written{}, err
	}
	actor, err := callerOf(c.as, c.env)
	if err != nil {
		return result, written{}, err
	}
	operation := storage.Operation{Name: c.cmd.name, Operator: operatorOf(c.operator, c.stdin), Actor: actor, Reason: reason}
	commit, warnings, err := c.store.Update(c.ctx, operation, func(tx *storage.Tx) (err error) {
		result, err = change(tx)
		return err
	})
	c.warnings.Add(warnings...)
	return result, written{OperationID: commit.OperationID, DryRun: c.dryRun}, err
}

// subject returns the thread that the argument at position i names, or else
// the one of --thread and LESLIE_THREAD.
func (c *call) subject(i int) (string, error) {
	id := c.arg(i)
	if id == "" {
		id = c.thread
	}
	if id == "" {
		return "", usageError(c.cmd.name+" needs the id of a thread", c.cmd.args[i].name).
			Having("usage", c.cmd.usage())
	}
	c.threadID = id
	return id, nil
}

// noSuch returns T903 for a combination of flags that makes no sense.
func (c *call) noSuch(problem, argument string) error {
	return usageError(problem, argument).Having("usage", c.cmd.usage())
}

// concern notes for the log whom the call is about.
func (c *call) concern(t threads.Thread) {
	c.threadID, c.objectiveID = t.ID, t.ObjectiveID
}
