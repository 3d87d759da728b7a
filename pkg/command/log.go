package command

import (
	"time"

	"github.com/leslie-sh/leslie/storage"
)

var logCommand = &command{
	name:    "log",
	summary: "show what was done to the store, newest last",
	flags: []flagSpec{
		{name: "of", value: "ID", kind: ident, summary: "only what touched this thread, objective or reference"},
		{name: "since", value: "OP", kind: ident, summary: "only what came after this operation"},
		limitFlag,
		{name: "before", value: "OP", kind: ident, summary: "only what came before this operation"},
	},
	data: logData{},
	run:  runLog,
}

type logData struct {
	Operations []operationShape `json:"operations"`
	Count      int              `json:"count"`
	Next       string           `json:"next,omitempty"`
}

type operationShape struct {
	OperationID string    `json:"operationId"`
	Seq         int64     `json:"seq"`
	Time        time.Time `json:"time"`
	Operation   string    `json:"operation"`
	Operator    string    `json:"operator"`
	Actor       string    `json:"actor"`
	Reason      string    `json:"reason,omitempty"`
	Keys        []string  `json:"keys"`
	Paths       []string  `json:"paths,omitempty"`
}

func runLog(c *call) (any, error) {
	if err := c.open(); err != nil {
		return nil, err
	}
	limit := c.number("limit", usualLimit)
	logged, more, warnings, err := c.store.Operations(storage.Query{Since: c.text("since"), Before: c.text("before"), Of: c.text("of"), Limit: limit})
	c.warnings.Add(warnings...)
	if err != nil {
		return nil, err
	}
	data := logData{Operations: make([]operationShape, 0, len(logged)), Count: len(logged)}
	for _, op := range logged {
		data.Operations = append(data.Operations, operationShape{
			OperationID: op.OperationID, Seq: op.Seq, Time: op.Time, Operation: op.Operation, Operator: op.Operator,
			Actor: op.Actor, Reason: op.Reason, Keys: op.Keys, Paths: op.Paths,
		})
	}
	if len(logged) > 0 {
		data.Next = c.older(more, logged[0].OperationID)
	}
	return data, nil
}
