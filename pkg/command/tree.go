package command

import (
	"fmt"
	"strings"

	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

var treeCommand = &command{
	name:    "tree",
	summary: "show threads under their parents",
	args:    []argSpec{{name: "ID", kind: ident, optional: true}},
	flags:   []flagSpec{limitFlag, {name: "all", kind: boolean, summary: "archived ones too"}},
	text:    "tree",
	data:    treeData{},
	run:     runTree,
}

type treeData struct {
	Tree    string       `json:"tree"`
	Threads []treeThread `json:"threads"`
	Count   int          `json:"count"`
	Next    string       `json:"next,omitempty"`
}

type treeThread struct {
	ID       string `json:"id"`
	ParentID string `json:"parentId,omitempty"`
	Depth    int    `json:"depth"`
	Status   string `json:"status"`
	Title    string `json:"title"`
}

func runTree(c *call) (any, error) {
	limit := c.number("limit", usualLimit)
	return view(c, func(v *storage.View) (treeData, error) {
		forest, more, err := forestOf(v, c.arg(0), limit, c.on("all"))
		if err != nil {
			return treeData{}, err
		}
		data := treeData{Threads: forest.flatten(), Next: c.wider(more, limit)}
		data.Tree, data.Count = drawTree(data.Threads, data.Next), len(data.Threads)
		return data, nil
	})
}

// drawTree writes one line a thread, indented under its parent.
func drawTree(nodes []treeThread, next string) string {
	var text strings.Builder
	for _, t := range nodes {
		fmt.Fprintf(&text, "%s%s [%s] %s\n", strings.Repeat("  ", t.Depth), t.ID, t.Status, oneLine(t.Title))
	}
	if next != "" {
		fmt.Fprintf(&text, "... more: %s\n", next)
	}
	return text.String()
}

// oneLine keeps a text from breaking the line it stands on.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || isBidi(r) }), " ")
}

// forest is a bounded part of the threads, each under its parent.
type forest struct {
	roots    []string
	children map[string][]string
	threads  map[string]threads.Thread
}

// forestOf gathers the thread called id and what is below it, nearest first,
// or, without an id, the most recently updated threads with their parents.
// more says that the limit left some out.
func forestOf(r storage.Reader, id string, limit int, all bool) (*forest, bool, error) {
	f := &forest{children: map[string][]string{}, threads: map[string]threads.Thread{}}
	if id != "" {
		more, err := f.growDown(r, id, limit)
		return f, more, err
	}
	page, err := threads.List(r, threads.Filter{All: all, Limit: limit})
	if err != nil {
		return nil, false, err
	}
	for _, t := range page.Threads {
		if err := f.growUp(r, t); err != nil {
			return nil, false, err
		}
	}
	return f, page.More, nil
}

func (f *forest) has(id string) bool {
	_, there := f.threads[id]
	return there
}

// growDown adds id and its descendants, breadth first.
func (f *forest) growDown(r storage.Reader, id string, limit int) (more bool, err error) {
	f.roots = []string{id}
	for queue := []string{id}; len(queue) > 0; queue = queue[1:] {
		if len(f.threads) == limit {
			return true, nil
		}
		t, err := threads.Find(r, queue[0])
		if err != nil {
			return false, err
		}
		if f.has(t.ID) {
			continue
		}
		f.threads[t.ID] = t
		if t.ID != id {
			f.children[t.ParentID] = append(f.children[t.ParentID], t.ID)
		}
		below, err := threads.Children(r, t.ID)
		if err != nil {
			return false, err
		}
		queue = append(queue, below...)
	}
	return false, nil
}

// growUp adds t and the parents that it stands under.
func (f *forest) growUp(r storage.Reader, t threads.Thread) error {
	for !f.has(t.ID) {
		f.threads[t.ID] = t
		if t.ParentID == "" {
			f.roots = append(f.roots, t.ID)
			return nil
		}
		f.children[t.ParentID] = append(f.children[t.ParentID], t.ID)
		parent, err := threads.Find(r, t.ParentID)
		if err != nil {
			return err
		}
		t = parent
	}
	return nil
}

// flatten lists the forest in the order in which it is drawn. Damaged records
// could name each other as parents, so no thread is visited twice.
func (f *forest) flatten() []treeThread {
	list, seen := make([]treeThread, 0, len(f.threads)), map[string]bool{}
	var visit func(id string, depth int)
	visit = func(id string, depth int) {
		t, there := f.threads[id]
		if !there || seen[id] {
			return
		}
		seen[id] = true
		list = append(list, treeThread{ID: id, ParentID: t.ParentID, Depth: depth, Status: string(t.Status), Title: t.Title})
		for _, child := range f.children[id] {
			visit(child, depth+1)
		}
	}
	for _, root := range f.roots {
		visit(root, 0)
	}
	return list
}
