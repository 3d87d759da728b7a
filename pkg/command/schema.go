package command

import (
	"strings"

	"github.com/leslie-sh/leslie/pkg/response"
)

var schemaCommand = &command{
	name:      "schema",
	summary:   "the JSON Schema of the answer to a command, or to all",
	args:      []argSpec{{name: "COMMAND", optional: true, many: true}},
	unbounded: true,
	data:      schemaData{},
	run:       runSchema,
}

type schemaData struct {
	Command string         `json:"command,omitempty"`
	Schema  map[string]any `json:"schema,omitempty"`
	Schemas map[string]any `json:"schemas,omitempty"`
}

func runSchema(c *call) (any, error) {
	if len(c.args) == 0 {
		data := schemaData{Schemas: map[string]any{}}
		for _, cmd := range c.commands {
			if cmd.data != nil {
				data.Schemas[cmd.name] = response.Schema(cmd.data)
			}
		}
		return data, nil
	}
	cmd, rest := c.commands.match(strings.Fields(strings.Join(c.args, " ")))
	switch {
	case cmd == nil:
		return nil, unknownWord("command", c.args[0], c.commands.first())
	case len(rest) > 0 || cmd.group:
		second := c.commands.under(cmd.name)
		return nil, unknownWord(cmd.name+" command", strings.Join(rest, " "), second).Having("allowed", second)
	}
	return schemaData{Command: cmd.name, Schema: response.Schema(cmd.data)}, nil
}
