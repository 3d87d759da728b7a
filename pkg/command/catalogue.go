package command

import (
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
)

var explainCommand = &command{
	name:    "explain",
	summary: "what a code means and what to do about it",
	args:    []argSpec{{name: "CODE"}},
	data:    explainData{},
	run:     runExplain,
}

var codesCommand = &command{
	name:      "codes",
	summary:   "every code, with its exit status",
	unbounded: true,
	data:      codesData{},
	run:       runCodes,
}

type explainData struct {
	Code        string        `json:"code"`
	Title       string        `json:"title"`
	Message     string        `json:"message"`
	Hint        string        `json:"hint"`
	Retryable   bool          `json:"retryable"`
	Retry       string        `json:"retry,omitempty"`
	ExitStatus  int           `json:"exitStatus"`
	Details     []detailShape `json:"details"`
	Next        []string      `json:"next,omitempty"`
	UserMessage string        `json:"userMessage,omitempty"`
	Example     string        `json:"example,omitempty"`
}

type detailShape struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Doc  string `json:"doc"`
}

type codesData struct {
	Codes []codeShape `json:"codes"`
	Count int         `json:"count"`
}

type codeShape struct {
	Code       string `json:"code"`
	Title      string `json:"title"`
	Message    string `json:"message"`
	ExitStatus int    `json:"exitStatus"`
	Retryable  bool   `json:"retryable"`
}

func runExplain(c *call) (any, error) {
	code := errcodes.Code(strings.ToUpper(strings.TrimSpace(c.arg(0))))
	if !code.Known() {
		known := make([]string, 0, len(errcodes.Catalogue()))
		for _, e := range errcodes.Catalogue() {
			known = append(known, string(e.Code))
		}
		return nil, unknownWord("code", strings.ToUpper(c.arg(0)), known).Having("usage", c.cmd.usage())
	}
	e := code.Entry()
	data := explainData{
		Code: string(e.Code), Title: e.Title, Message: e.Message, Hint: e.HintTemplate(),
		Retryable: e.Retryable, Retry: string(e.Retry), ExitStatus: e.Code.ExitStatus(),
		Details: make([]detailShape, 0, len(e.Details)), Next: e.Next, UserMessage: e.UserMessage, Example: e.Example,
	}
	for _, field := range e.Details {
		data.Details = append(data.Details, detailShape{field.Name, field.Type, field.Doc})
	}
	return data, nil
}

func runCodes(*call) (any, error) {
	entries := errcodes.Catalogue()
	data := codesData{Codes: make([]codeShape, 0, len(entries)), Count: len(entries)}
	for _, e := range entries {
		data.Codes = append(data.Codes, codeShape{string(e.Code), e.Title, e.Message, e.Code.ExitStatus(), e.Retryable})
	}
	return data, nil
}
