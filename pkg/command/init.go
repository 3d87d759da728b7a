package command

import (
	"path/filepath"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

var initCommand = &command{
	name:    "init",
	summary: "make a store in this directory",
	writes:  true,
	data:    initData{},
	run:     runInit,
}

type initData struct {
	Root    string `json:"root"`
	Created bool   `json:"created"`
	DryRun  bool   `json:"dryRun,omitempty"`
}

func runInit(c *call) (any, error) {
	root, err := c.newRoot()
	if err != nil {
		return nil, err
	}
	if hasStore(root) {
		if err := checkStore(root, false); err != nil {
			return nil, err
		}
	}
	if c.dryRun {
		return initData{Root: root, Created: !hasStore(root), DryRun: true}, nil
	}
	created, err := storage.Init(c.ctx, filepath.Join(root, storeName), c.storage())
	if err != nil {
		return nil, err
	}
	return initData{Root: root, Created: created}, nil
}

// newRoot returns the absolute path of the directory that is to hold a store:
// the named one, else the working directory. T503 when it is none.
func (c *call) newRoot() (string, error) {
	root := c.globals.root
	if !filepath.IsAbs(root) {
		dir, err := workingDirectory()
		if err != nil {
			return "", err
		}
		root = filepath.Join(dir, root)
	}
	if hint, reason := notDirectory(root); reason != "" {
		return "", errcodes.WriteFailed.With("path", errcodes.Clip(root), "reason", reason).Having("hint", hint)
	}
	return filepath.Clean(root), nil
}
