package command

import (
	"context"
	"errors"
	"io"
	"os"
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
	line     string // the whole line, quoted for a shell
	emit     func(event any) error
	options  storage.Options // of the process, for every store that is opened

	root      string // the directory that holds the store, once it is open
	store     *storage.Store
	warnings  errcodes.Warnings
	onAttempt func(retry.Attempt)

	drained bool                   // whether what the call read cannot be read again
	before  func(id string) string // the command that shows the page before an element, nil without pages

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
	root, err := c.findRoot()
	if errors.Is(err, errForeign) {
		// Its answer names the store, so that the same command meets it.
		c.rootFlag = root
		return errcodes.Of(err).Having("next", []string{c.line})
	}
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

// findRoot returns the directory that holds the store. Only here, and where a
// store is made, the working directory has to be there.
func (c *call) findRoot() (string, error) {
	if filepath.IsAbs(c.globals.root) {
		return findRoot("", c.globals.root)
	}
	dir, err := workingDirectory()
	if err != nil {
		return "", err
	}
	return findRoot(dir, c.globals.root)
}

func workingDirectory() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", errcodes.ReadFailed.With("path", ".", "reason", "the working directory: "+cause(err)).Because(err)
	}
	return dir, nil
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
	operation := storage.Operation{
		Name: c.cmd.name, Operator: operatorOf(c.operator, c.stdin), Actor: callerOf(c.as, c.env), Reason: reason,
	}
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
