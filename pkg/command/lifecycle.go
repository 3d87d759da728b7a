package command

import (
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

var reasonFlag = flagSpec{name: "reason", value: "TEXT", summary: "why, for the log"}

var lifecycleCommand = &command{
	name:    "lifecycle",
	summary: "take a thread from one state to another",
	args:    []argSpec{threadArg},
	flags: []flagSpec{
		{name: "action", kind: choice, allowed: actions(), required: true, summary: "what to do"},
		reasonFlag,
	},
	writes: true,
	data:   lifecycleData{},
	run: func(c *call) (any, error) {
		return runAction(c, threads.Action(c.text("action")))
	},
}

var (
	doneCommand    = short(threads.Done, "say that a thread has reached what it was for")
	failCommand    = short(threads.Fail, "say that a thread has failed")
	cancelCommand  = short(threads.Cancel, "give a thread up")
	suspendCommand = short(threads.Suspend, "put a thread aside")
	resumeCommand  = short(threads.Resume, "take up a thread that was put aside or failed")
	reopenCommand  = short(threads.Reopen, "take up a thread that was finished")
	archiveCommand = short(threads.Archive, "put a finished thread away")
)

// short returns the command that is one action by itself.
func short(action threads.Action, summary string) *command {
	return &command{
		name:    string(action),
		summary: summary,
		args:    []argSpec{threadArg},
		flags:   []flagSpec{reasonFlag},
		writes:  true,
		data:    lifecycleData{},
		run:     func(c *call) (any, error) { return runAction(c, action) },
	}
}

type lifecycleData struct {
	ThreadID string `json:"threadId"`
	From     string `json:"from"`
	Status   string `json:"status"`
	written
}

func actions() []string {
	var words []string
	for _, a := range threads.Actions() {
		words = append(words, string(a))
	}
	return words
}

func runAction(c *call, action threads.Action) (any, error) {
	id, err := c.subject(0)
	if err != nil {
		return nil, err
	}
	reason := c.text("reason")
	changed, durable, err := update(c, reason, func(tx *storage.Tx) (threads.Changed, error) {
		return threads.Change(tx, id, action, reason)
	})
	if err != nil {
		return nil, err
	}
	c.concern(changed.Thread)
	return lifecycleData{
		ThreadID: id, From: string(changed.From), Status: string(changed.Thread.Status),
		written: durable.at(changed.Thread.Revision),
	}, nil
}
