package command

import (
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

var injectCommand = &command{
	name:    "inject",
	summary: "tell a thread something that its next context brings",
	flags: []flagSpec{
		{name: "target", value: "ID", kind: ident, summary: "the thread, else --thread"},
		{name: "type", kind: choice, allowed: []string{"constraint", "info", "correction"}, required: true, summary: "what it is"},
		{name: "content", value: "TEXT", required: true, summary: "what is said"},
	},
	writes: true,
	data:   injectData{},
	run:    runInject,
}

type injectData struct {
	InjectionID string `json:"injectionId"`
	ThreadID    string `json:"threadId"`
	Type        string `json:"type"`
	written
}

// injected is an injection and the thread that it went to.
type injected struct {
	injection threads.Injection
	thread    threads.Thread
}

func runInject(c *call) (any, error) {
	target, err := c.threadFlag("target")
	if err != nil {
		return nil, err
	}
	by := callerOf(c.as, c.env)
	done, durable, err := update(c, "", func(tx *storage.Tx) (injected, error) {
		i, t, err := threads.Inject(tx, threads.Injection{ThreadID: target, Type: c.text("type"), Content: c.text("content"), By: by})
		return injected{i, t}, err
	})
	if err != nil {
		return nil, err
	}
	c.concern(done.thread)
	return injectData{done.injection.ID, target, done.injection.Type, durable.at(done.thread.Revision)}, nil
}

// threadFlag returns the thread that a flag names, or else that of --thread.
func (c *call) threadFlag(name string) (string, error) {
	id := c.text(name)
	if id == "" {
		id = c.thread
	}
	if id == "" {
		return "", c.noSuch(c.cmd.name+" needs --"+name, "--"+name)
	}
	c.threadID = id
	return id, nil
}
