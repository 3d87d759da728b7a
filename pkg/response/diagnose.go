package response

import (
	"log/slog"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
)

// diagnose writes warnings and the error to stderr, each once. Stderr that
// takes nothing is nobody's failure: stdout and the exit status tell the same.
func (a *answer) diagnose(out Output) {
	if out.StderrTerminal && out.Diagnose != nil {
		a.show(out.Diagnose)
		return
	}
	var rows []row
	for _, w := range a.Warnings {
		rows = append(rows, rowOf("warning", w.Code, w.Message(), factsOf(w.Context)))
	}
	if a.failure != nil {
		rows = append(rows, rowOf("error", a.failure.Code, a.failure.Error(), a.details()))
	}
	var lines []byte
	for _, r := range rows {
		lines = appendRows(lines, []row{r}, Output{Color: out.Color, StdoutTerminal: out.StderrTerminal})
	}
	if len(lines) > 0 {
		_, _ = out.Stderr.Write(lines)
	}
}

// rowOf returns the line of an error or a warning.
func rowOf(word string, code errcodes.Code, message string, facts []byte) row {
	r := row{word: word}
	r.text = appendLogfmtValue(append(r.text, "code="...), string(code))
	r.ends = append(r.ends, len(r.text))
	r.text = appendLogfmtValue(append(r.text, "msg="...), message)
	r.ends = append(r.ends, len(r.text))
	r.addMembers(nil, gjson.ParseBytes(facts))
	return r
}

// show tells a person: of a warning all there is; of an error the sentence
// that is meant for them, what to do, and the facts where the catalogue says
// that a person wants them.
func (a *answer) show(diagnose func(slog.Level, string, []slog.Attr)) {
	for _, w := range a.Warnings {
		diagnose(slog.LevelWarn, w.Message(), appendFacts([]slog.Attr{slog.String("code", string(w.Code))}, w.Context))
	}
	if a.failure == nil {
		return
	}
	message := a.failure.UserMessage()
	if message == "" {
		message = a.failure.Error()
	}
	attrs := []slog.Attr{slog.String("code", string(a.failure.Code))}
	if a.failure.Code.Entry().ShowDetails {
		attrs = appendFacts(attrs, a.failure.Details)
	}
	if hint := a.hint(); hint != "" {
		attrs = append(attrs, slog.String("hint", hint))
	}
	for _, command := range a.next() {
		attrs = append(attrs, slog.String("next", command))
	}
	diagnose(slog.LevelError, message, attrs)
}

// appendFacts adds what is told of an occurrence; hint and next are told by
// themselves.
func appendFacts(attrs []slog.Attr, facts []errcodes.Attr) []slog.Attr {
	for _, fact := range facts {
		if fact.Key != "hint" && fact.Key != "next" {
			attrs = append(attrs, slog.Any(fact.Key, fact.Value))
		}
	}
	return attrs
}
