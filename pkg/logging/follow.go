package logging

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"time"
)

// poll is how often Follow looks for new lines.
const poll = 200 * time.Millisecond

// Follow gives emit the last entries of the files, and then each new one as
// it comes, none missing in between, until ctx ends (it then returns the
// cause) or emit fails. The files are asked for at every look, so that
// new ones are found; one that was rotated or truncated is read anew from its
// beginning, after the rest of the old one.
func Follow(ctx context.Context, files func() []string, last int, emit func(Entry) error) error {
	f := follower{emit: emit, at: map[string]*position{}}
	defer f.close()
	if err := f.begin(files(), last); err != nil {
		return err
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		for _, file := range files() {
			if err := f.look(file); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

type follower struct {
	emit func(Entry) error
	at   map[string]*position
}

// position is how far a file has been read. The handle is kept, because a
// file that is renamed away may still have lines that were not read.
type position struct {
	file   *os.File
	offset int64 // behind the last complete line
}

func (f *follower) close() {
	for _, at := range f.at {
		at.file.Close()
	}
}

// begin reads what is there and emits the last entries of it.
func (f *follower) begin(files []string, last int) error {
	var found []Entry
	emit := f.emit
	f.emit = func(e Entry) error {
		found = append(found, e)
		return nil
	}
	for _, file := range files {
		if err := f.look(file); err != nil {
			return err
		}
	}
	f.emit = emit
	slices.SortStableFunc(found, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	for _, e := range found[max(0, len(found)-max(0, last)):] {
		if err := emit(e); err != nil {
			return err
		}
	}
	return nil
}

// look emits what is new in file.
func (f *follower) look(file string) error {
	at := f.at[file]
	if at != nil {
		if err := f.drain(at); err != nil {
			return err
		}
		if at.current(file) {
			return nil
		}
	}
	opened, err := openRead(file)
	if err != nil { // gone for the moment
		return nil
	}
	if at != nil {
		at.file.Close()
	}
	f.at[file] = &position{file: opened}
	return f.drain(f.at[file])
}

// current reports whether the file that is being read is still at its path.
func (p *position) current(file string) bool {
	now, err := os.Lstat(file)
	if err != nil {
		return true
	}
	held, err := p.file.Stat()
	return err == nil && os.SameFile(now, held)
}

// drain emits every complete line behind the position.
func (f *follower) drain(at *position) error {
	info, err := at.file.Stat()
	if err != nil {
		return nil
	}
	if info.Size() < at.offset {
		at.offset = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(at.file, at.offset, info.Size()-at.offset))
	if err != nil {
		return nil
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	at.offset += int64(len(text))
	for _, line := range complete(text, 0) {
		if e, ok := Parse(line); ok {
			if err := f.emit(e); err != nil {
				return err
			}
		}
	}
	return nil
}
