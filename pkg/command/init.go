package command

import (
	"os"
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
	root := c.dir
	if c.globals.root != "" {
		root = c.globals.root
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, errcodes.WriteFailed.With("path", c.globals.root, "reason", err.Error()).Because(err)
	}
	info, err := os.Stat(root)
	if err != nil || !info.IsDir() {
		return nil, errcodes.WriteFailed.With("path", errcodes.Clip(root), "reason", "it is not a directory")
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
