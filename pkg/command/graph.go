package command

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/leslie-sh/leslie/refs"
	"github.com/leslie-sh/leslie/storage"
)

var graphCommand = &command{
	name:    "graph",
	summary: "draw parents and references",
	flags: []flagSpec{
		{name: "as", kind: choice, allowed: []string{"dot", "mermaid", "json"}, summary: "the language of the drawing (dot)"},
		limitFlag,
		{name: "all", kind: boolean, summary: "archived ones too"},
	},
	text: "graph",
	data: graphData{},
	run:  runGraph,
}

// graphData is a graph as a drawing, or, where it is asked for as JSON, as
// lists of what it consists of. logfmt then prints those as a text of JSON.
type graphData struct {
	Graph string      `json:"graph,omitempty"`
	As    string      `json:"as"`
	Nodes []graphNode `json:"nodes,omitzero"`
	Edges []graphEdge `json:"edges,omitzero"`
	Count int         `json:"count"` // of nodes
	Next  string      `json:"next,omitempty"`

	text string
}

func (d graphData) plain() string { return d.text }

type graphNode struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status string `json:"status"`
}

// graphEdge leads from a child to its parent, or from the referring thread
// to the one it refers to.
type graphEdge struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Kind    string `json:"kind"` // parent or reference
	RefID   string `json:"refId,omitempty"`
	Binding string `json:"binding,omitempty"`
}

func runGraph(c *call) (any, error) {
	limit := c.number("limit", usualLimit)
	data, err := view(c, func(v *storage.View) (graphData, error) {
		forest, more, err := forestOf(v, "", limit, c.on("all"))
		if err != nil {
			return graphData{}, err
		}
		data := graphData{As: "dot", Nodes: []graphNode{}, Edges: []graphEdge{}, Next: c.wider(more, limit)}
		for _, t := range forest.flatten() {
			if err := data.add(v, t); err != nil {
				return graphData{}, err
			}
		}
		return data, nil
	})
	if err != nil {
		return nil, err
	}
	data.Count = len(data.Nodes)
	if c.given("as") {
		data.As = c.text("as")
	}
	return drawn(data)
}

// add takes up a thread with the edges that begin at it.
func (d *graphData) add(r storage.Reader, t treeThread) error {
	d.Nodes = append(d.Nodes, graphNode{t.ID, t.Title, t.Status})
	if t.ParentID != "" {
		d.Edges = append(d.Edges, graphEdge{From: t.ID, To: t.ParentID, Kind: "parent"})
	}
	references, err := refs.From(r, t.ID)
	for _, ref := range references {
		d.Edges = append(d.Edges, graphEdge{From: t.ID, To: ref.Target, Kind: "reference", RefID: ref.ID, Binding: string(ref.Binding)})
	}
	return err
}

// drawn returns d with its drawing in place of the lists, but for JSON.
func drawn(d graphData) (graphData, error) {
	switch d.As {
	case "json":
		text, err := json.Marshal(map[string]any{"nodes": d.Nodes, "edges": d.Edges})
		d.text = string(text) + "\n"
		return d, err
	case "mermaid":
		d.Graph = mermaid(d)
	default:
		d.Graph = dot(d)
	}
	d.Nodes, d.Edges = nil, nil
	return d, nil
}

func dot(d graphData) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	var text strings.Builder
	text.WriteString("digraph leslie {\n")
	for _, n := range d.Nodes {
		fmt.Fprintf(&text, "  \"%s\" [label=\"%s\\n%s\"];\n", n.ID, quote(oneLine(n.Title)), n.Status)
	}
	for _, e := range d.Edges {
		style := "solid"
		if e.Kind == "reference" {
			style = "dashed"
		}
		fmt.Fprintf(&text, "  \"%s\" -> \"%s\" [style=%s, label=\"%s\"];\n", e.From, e.To, style, e.label())
	}
	text.WriteString("}\n")
	return text.String()
}

func (e graphEdge) label() string {
	if e.Binding != "" {
		return e.Binding
	}
	return e.Kind
}

// mermaid numbers the nodes: some ids are words of its language.
func mermaid(d graphData) string {
	escape := strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "#", "&#35;").Replace
	numbers := map[string]string{}
	var text strings.Builder
	text.WriteString("graph TD\n")
	node := func(id, label string) {
		numbers[id] = fmt.Sprintf("n%d", len(numbers))
		fmt.Fprintf(&text, "  %s[\"%s\"]\n", numbers[id], label)
	}
	for _, n := range d.Nodes {
		node(n.ID, fmt.Sprintf("%s<br/>%s<br/>%s", n.ID, escape(oneLine(n.Title)), n.Status))
	}
	for _, e := range d.Edges {
		if numbers[e.To] == "" {
			node(e.To, e.To)
		}
		arrow := "-->"
		if e.Kind == "reference" {
			arrow = "-.->"
		}
		fmt.Fprintf(&text, "  %s %s|%s| %s\n", numbers[e.From], arrow, e.label(), numbers[e.To])
	}
	return text.String()
}
