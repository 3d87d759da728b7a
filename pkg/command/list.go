package command

import (
	"slices"
	"strconv"
	"strings"

	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

var listCommand = &command{
	name:    "list",
	summary: "show threads, the most recently updated ones, newest last",
	flags: []flagSpec{
		{name: "status", kind: choice, allowed: statuses(), summary: "only those in this state"},
		{name: "kind", kind: choice, allowed: []string{"work", "session", "loop", "run", "task"}, summary: "only those of this kind"},
		{name: "objective", value: "ID", kind: ident, summary: "only those of this objective"},
		{name: "parent", value: "ID", kind: ident, summary: "only the children of this thread"},
		{name: "tag", value: "TAG", summary: "only those with this tag"},
		{name: "executor", kind: choice, allowed: executors, summary: "only those done by"},
		{name: "all", kind: boolean, summary: "archived ones too"},
		limitFlag,
		{name: "before", value: "ID", kind: ident, summary: "only those updated earlier than this thread"},
	},
	data: listData{},
	run:  runList,
}

type listData struct {
	Threads []threadShape `json:"threads"`
	Count   int           `json:"count"`
	Next    string        `json:"next,omitempty"`
}

func statuses() []string {
	var words []string
	for _, s := range threads.Statuses() {
		words = append(words, string(s))
	}
	return words
}

func runList(c *call) (any, error) {
	filter := threads.Filter{
		Status: threads.Status(c.text("status")), Kind: c.text("kind"),
		ObjectiveID: c.text("objective"), ParentID: c.text("parent"), Tag: c.text("tag"),
		Executor: c.text("executor"), All: c.on("all"),
		Limit: c.number("limit", usualLimit), Before: c.text("before"),
	}
	return view(c, func(v *storage.View) (listData, error) {
		if err := checkFilter(v, filter); err != nil {
			return listData{}, err
		}
		page, err := threads.List(v, filter)
		if err != nil {
			return listData{}, err
		}
		data := listData{Threads: make([]threadShape, 0, len(page.Threads)), Count: len(page.Threads)}
		for _, t := range page.Threads {
			shape, err := c.shape(v, t)
			if err != nil {
				return listData{}, err
			}
			data.Threads = append(data.Threads, shape)
		}
		if len(data.Threads) > 0 {
			data.Next = c.older(page.More, data.Threads[0].ID)
		}
		return data, nil
	})
}

// checkFilter refuses an objective or a parent that does not exist: a list
// without threads would hide the slip. T101, T601.
func checkFilter(r storage.Reader, f threads.Filter) error {
	if f.ObjectiveID != "" {
		if _, err := threads.FindObjective(r, f.ObjectiveID); err != nil {
			return err
		}
	}
	if f.ParentID != "" {
		if _, err := threads.Find(r, f.ParentID); err != nil {
			return err
		}
	}
	return nil
}

// words returns the command with its arguments and the flags of its own that
// were given, without those left out, as they would be written again.
func (c *call) words(without ...string) []string {
	words := append(strings.Fields(c.cmd.name), c.args...)
	for _, f := range c.cmd.flags {
		switch {
		case !c.given(f.name) || slices.Contains(without, f.name):
		case f.kind == boolean:
			words = append(words, "--"+f.name)
		case f.kind == number:
			words = append(words, "--"+f.name, strconv.Itoa(c.number(f.name, 0)))
		case f.repeat:
			for _, value := range c.list(f.name) {
				words = append(words, "--"+f.name, value)
			}
		default:
			words = append(words, "--"+f.name, c.text(f.name))
		}
	}
	return words
}
