package command

import (
	"github.com/leslie-sh/leslie/refs"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

var referenceCommand = &command{
	name:    "reference",
	summary: "let one thread use the artifacts of another",
	flags: []flagSpec{
		{name: "from", value: "ID", kind: ident, summary: "the thread that refers, else --thread"},
		{name: "target", value: "ID", kind: ident, required: true, summary: "the thread it refers to"},
		{name: "scope", value: "PATH", repeat: true, summary: "only these artifacts"},
		{name: "binding", kind: choice, allowed: []string{string(refs.Frozen), string(refs.Live)}, summary: "as they are now (frozen), or as they will be (live)"},
	},
	writes: true,
	data:   referenceData{},
	run:    runReference,
}

var referenceListCommand = &command{
	name:    "reference list",
	summary: "show references, all or those from and to one thread",
	args:    []argSpec{{name: "ID", kind: ident, optional: true}},
	flags:   []flagSpec{limitFlag},
	data:    referencesData{},
	run:     runReferenceList,
}

var referenceRefreshCommand = &command{
	name:    "reference refresh",
	summary: "freeze a reference anew",
	args:    []argSpec{{name: "REF", kind: ident}},
	writes:  true,
	data:    referenceData{},
	run: func(c *call) (any, error) {
		return changeReference(c, func(tx *storage.Tx) (refs.Added, error) { return refs.Refresh(tx, c.arg(0)) })
	},
}

var referenceRemoveCommand = &command{
	name:    "reference remove",
	summary: "take a reference away",
	args:    []argSpec{{name: "REF", kind: ident}},
	writes:  true,
	data:    removedReference{},
	run:     runReferenceRemove,
}

var referenceResolveCommand = &command{
	name:    "reference resolve",
	summary: "say where a file is that a reference leads to",
	args:    []argSpec{{name: "REF", kind: ident}, {name: "PATH"}},
	data:    resolvedData{},
	run:     runReferenceResolve,
}

type referenceData struct {
	RefID           string   `json:"refId"`
	From            string   `json:"from"`
	Target          string   `json:"target"`
	Binding         string   `json:"binding"`
	TargetResolved  bool     `json:"targetResolved"`
	SnapshotVersion int      `json:"snapshotVersion,omitempty"`
	Copied          []string `json:"copied"`
	written
}

type removedReference struct {
	RefID  string `json:"refId"`
	From   string `json:"from"`
	Target string `json:"target"`
	written
}

type referencesData struct {
	References []referenceShape `json:"references"`
	Count      int              `json:"count"`
	Next       string           `json:"next,omitempty"`
}

type referenceShape struct {
	RefID string `json:"refId"`
	refs.Reference
	Revision int64 `json:"revision"`
}

type resolvedData struct {
	RefID   string `json:"refId"`
	Target  string `json:"target"`
	Binding string `json:"binding"`
	Path    string `json:"path"`
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
}

func runReference(c *call) (any, error) {
	from, err := c.threadFlag("from")
	if err != nil {
		return nil, err
	}
	binding := refs.Frozen
	if c.given("binding") {
		binding = refs.Binding(c.text("binding"))
	}
	return changeReference(c, func(tx *storage.Tx) (refs.Added, error) {
		return refs.Add(tx, from, c.text("target"), c.list("scope"), binding)
	})
}

func changeReference(c *call, change func(*storage.Tx) (refs.Added, error)) (any, error) {
	added, durable, err := update(c, "", change)
	if err != nil {
		return nil, err
	}
	r := added.Reference
	c.threadID = r.From
	return referenceData{
		RefID: r.ID, From: r.From, Target: r.Target, Binding: string(r.Binding), TargetResolved: r.TargetResolved,
		SnapshotVersion: r.SnapshotVersion, Copied: append([]string{}, added.Copied...), written: durable.at(r.Revision),
	}, nil
}

func runReferenceRemove(c *call) (any, error) {
	gone, durable, err := update(c, "", func(tx *storage.Tx) (refs.Reference, error) { return refs.Remove(tx, c.arg(0)) })
	if err != nil {
		return nil, err
	}
	c.threadID = gone.From
	return removedReference{RefID: gone.ID, From: gone.From, Target: gone.Target, written: durable.at(gone.Revision)}, nil
}

func runReferenceList(c *call) (any, error) {
	limit := c.number("limit", usualLimit)
	return view(c, func(v *storage.View) (referencesData, error) {
		found, more, err := references(v, c.arg(0), limit)
		data := referencesData{References: make([]referenceShape, 0, len(found)), Count: len(found), Next: c.wider(more, limit)}
		for _, r := range found {
			data.References = append(data.References, referenceShape{r.ID, r, r.Revision})
		}
		return data, err
	})
}

// references returns those of one thread in both directions, or all. T101
// where there is neither a reference of it nor the thread.
func references(r storage.Reader, id string, limit int) ([]refs.Reference, bool, error) {
	if id == "" {
		return refs.All(r, limit)
	}
	from, err := refs.From(r, id)
	if err != nil {
		return nil, false, err
	}
	to, err := refs.To(r, id)
	both := append(from, to...)
	if err == nil && len(both) == 0 {
		_, err = threads.Find(r, id)
	}
	return both[:min(limit, len(both))], len(both) > limit, err
}

func runReferenceResolve(c *call) (any, error) {
	return view(c, func(v *storage.View) (resolvedData, error) {
		found, err := refs.Resolve(v, c.arg(0), c.arg(1))
		if err != nil {
			return resolvedData{}, err
		}
		c.threadID = found.Reference.From
		return resolvedData{
			RefID: found.Reference.ID, Target: found.Reference.Target, Binding: string(found.Reference.Binding),
			Path: found.Path, File: c.path(found.File), Bytes: found.Bytes, SHA256: found.SHA256,
		}, nil
	})
}
