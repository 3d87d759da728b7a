package command

import (
	"slices"
	"strconv"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/refs"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

// threadShape is how every answer shows a thread. The lists are ids of threads.
type threadShape struct {
	ID           string    `json:"id"`
	Kind         string    `json:"kind"`
	Phase        string    `json:"phase"`
	Title        string    `json:"title"`
	Intent       string    `json:"intent"`
	ObjectiveID  string    `json:"objectiveId"`
	ParentID     string    `json:"parentId"`
	Children     []string  `json:"children"`
	Status       string    `json:"status"`
	Executor     string    `json:"executor"`
	Tags         []string  `json:"tags"`
	ReferencesTo []string  `json:"referencesTo"`
	ReferencedBy []string  `json:"referencedBy"`
	CreatedAt    time.Time `json:"createdAt"`
	UpdatedAt    time.Time `json:"updatedAt"`
	StoragePath  string    `json:"storagePath"`
	Revision     int64     `json:"revision"`
	Reason       string    `json:"reason,omitempty"`
	CreatedBy    string    `json:"createdBy,omitempty"`
}

// shape gathers what an answer shows of t.
func (c *call) shape(r storage.Reader, t threads.Thread) (threadShape, error) {
	children, err := threads.Children(r, t.ID)
	if err != nil {
		return threadShape{}, err
	}
	to, err := refs.From(r, t.ID)
	if err != nil {
		return threadShape{}, err
	}
	by, err := refs.To(r, t.ID)
	if err != nil {
		return threadShape{}, err
	}
	return threadShape{
		ID: t.ID, Kind: t.Kind, Phase: t.Phase, Title: t.Title, Intent: t.Intent,
		ObjectiveID: t.ObjectiveID, ParentID: t.ParentID, Children: append([]string{}, children...),
		Status: string(t.Status), Executor: t.Executor, Tags: append([]string{}, t.Tags...),
		ReferencesTo: idsOf(to, func(r refs.Reference) string { return r.Target }),
		ReferencedBy: idsOf(by, func(r refs.Reference) string { return r.From }),
		CreatedAt:    t.CreatedAt, UpdatedAt: t.UpdatedAt, StoragePath: c.path("threads", t.ID),
		Revision: t.Revision, Reason: t.Reason, CreatedBy: t.CreatedBy,
	}, nil
}

// idsOf returns the other end of each reference, once each.
func idsOf(references []refs.Reference, end func(refs.Reference) string) []string {
	ids := make([]string, 0, len(references))
	for _, reference := range references {
		if id := end(reference); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// commandLine returns a complete command, quoted for a shell, that speaks to
// the same store as this one.
func (c *call) commandLine(words ...string) string {
	line := "leslie"
	for _, word := range words {
		line += " " + errcodes.Quote(word)
	}
	return line + c.rootSuffix()
}

// rootSuffix is what a command needs to find the store that --root named.
func (c *call) rootSuffix() string {
	if c.rootFlag == "" {
		return ""
	}
	return " --root " + errcodes.Quote(c.rootFlag)
}

// page returns the command of another page of this list: in the same format,
// and as full.
func (c *call) page(words ...string) string {
	line := c.commandLine(words...)
	if c.full {
		line += " --full"
	}
	if c.formatFlag != "" {
		line += " " + c.formatFlag
	}
	return line
}

// older returns the command for the page before the element called id, when
// there is one. The answer may begin later than this call makes it begin, and
// needs to know how that command is written.
func (c *call) older(more bool, id string) string {
	c.before = func(id string) string { return c.page(append(c.words("before"), "--before", id)...) }
	if !more || id == "" {
		return ""
	}
	return c.before(id)
}

// wider returns the same command with a greater limit, when more is there.
func (c *call) wider(more bool, limit int) string {
	if !more || limit >= mostElements {
		return ""
	}
	return c.page(append(c.words("limit"), "--limit", strconv.Itoa(min(mostElements, 4*limit)))...)
}
