package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/leslie-sh/leslie/errcodes"
)

// mostContent is the number of bytes that one artifact may have.
const mostContent = 256 << 20

// content reads an artifact from the file called name, or from stdin when
// there is none. Reading ends when the context does, also where the other
// end of a pipe stays silent or is not there. Codes: T506, T903, T904.
func (c *call) content(name string) ([]byte, error) {
	if name == "" || name == "-" {
		return readAll(c.ctx, "stdin", func() (io.ReadCloser, error) { return io.NopCloser(c.stdin), nil })
	}
	return readAll(c.ctx, name, func() (io.ReadCloser, error) { return openContent(name) })
}

func openContent(name string) (io.ReadCloser, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, errcodes.ReadFailed.With("path", errcodes.Clip(name), "reason", "it is a directory")
	}
	return file, nil
}

// readAll opens and reads in a goroutine of its own, because neither can be
// interrupted: when ctx ends first, the goroutine is left to the end of the
// process.
func readAll(ctx context.Context, name string, open func() (io.ReadCloser, error)) ([]byte, error) {
	type outcome struct {
		content []byte
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		content, err := readBounded(name, open)
		done <- outcome{content, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case read := <-done:
		return read.content, read.err
	}
}

func readBounded(name string, open func() (io.ReadCloser, error)) ([]byte, error) {
	in, err := open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var into bytes.Buffer
	if _, err := into.ReadFrom(io.LimitReader(in, mostContent+1)); err != nil {
		return nil, unreadable(name, err)
	}
	if into.Len() > mostContent {
		return nil, usageError("an artifact has at most 256 MiB", errcodes.Clip(name))
	}
	return into.Bytes(), nil
}

func unreadable(name string, err error) error {
	return errcodes.ReadFailed.With("path", errcodes.Clip(name), "reason", cause(err)).Because(err)
}

// cause returns what the system says of a file, without its path.
func cause(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err.Error()
	}
	return err.Error()
}
