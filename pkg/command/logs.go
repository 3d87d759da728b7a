package command

import (
	"path/filepath"
	"time"

	"github.com/leslie-sh/leslie/pkg/logging"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

var logsCommand = &command{
	name:    "logs",
	waits:   true,
	summary: "show the errors and warnings of all commands, newest last",
	flags: []flagSpec{
		{name: "of", value: "ID", kind: ident, summary: "only those of this thread"},
		{name: "objective", value: "ID", kind: ident, summary: "only those of this objective's threads"},
		limitFlag,
		{name: "follow", kind: boolean, summary: "go on with what comes, one event a line"},
	},
	data: logsData{},
	run:  runLogs,
}

type logsData struct {
	Entries []entryShape `json:"entries"`
	Count   int          `json:"count"`
	Next    string       `json:"next,omitempty"`
}

type entryShape struct {
	Time     time.Time         `json:"time"`
	Level    string            `json:"level"`
	ThreadID string            `json:"threadId,omitempty"`
	Code     string            `json:"code,omitempty"`
	Message  string            `json:"message"`
	Fields   map[string]string `json:"fields,omitempty"`
}

func runLogs(c *call) (any, error) {
	if err := c.open(); err != nil {
		return nil, err
	}
	about, err := c.logged()
	if err != nil {
		return nil, err
	}
	files := func() []string { return logging.Files(filepath.Join(c.root, storeName), about) }
	limit := c.number("limit", usualLimit)
	if c.on("follow") {
		return nil, logging.Follow(c.ctx, files, limit, func(e logging.Entry) error { return c.emit(shapeOfEntry(e)) })
	}
	entries, err := logging.Read(files(), limit+1)
	if err != nil {
		return nil, err
	}
	more := len(entries) > limit
	entries = entries[max(0, len(entries)-limit):]
	data := logsData{Entries: make([]entryShape, 0, len(entries)), Count: len(entries), Next: c.wider(more, limit)}
	for _, e := range entries {
		data.Entries = append(data.Entries, shapeOfEntry(e))
	}
	return data, nil
}

// logged says whose logs are asked for. A thread's log stands with its objective.
func (c *call) logged() (logging.About, error) {
	about := logging.About{ThreadID: c.text("of"), ObjectiveID: c.text("objective")}
	if about.ThreadID == "" || about.ObjectiveID != "" {
		return about, nil
	}
	t, err := view(c, func(v *storage.View) (threads.Thread, error) { return threads.Find(v, about.ThreadID) })
	about.ObjectiveID = t.ObjectiveID
	return about, err
}

func shapeOfEntry(e logging.Entry) entryShape {
	shape := entryShape{Time: e.Time, Level: e.Level, ThreadID: e.ThreadID, Code: e.Code, Message: e.Message}
	for _, field := range e.Fields {
		if shape.Fields == nil {
			shape.Fields = map[string]string{}
		}
		shape.Fields[field.Key] = field.Value
	}
	return shape
}
