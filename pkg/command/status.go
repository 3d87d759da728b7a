package command

import (
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

var statusCommand = &command{
	name:    "status",
	summary: "show one thread",
	args:    []argSpec{threadArg},
	data:    statusData{},
	run:     runStatus,
}

// threadArg is the thread that a command is about; --thread serves for it.
var threadArg = argSpec{name: "ID", kind: ident, thread: true}

type statusData struct {
	Thread threadShape `json:"thread"`
}

func runStatus(c *call) (any, error) {
	id, err := c.subject(0)
	if err != nil {
		return nil, err
	}
	return view(c, func(v *storage.View) (statusData, error) {
		t, err := threads.Find(v, id)
		if err != nil {
			return statusData{}, err
		}
		c.concern(t)
		shape, err := c.shape(v, t)
		return statusData{shape}, err
	})
}
