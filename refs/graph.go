package refs

import (
	"slices"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

// A reference from a to b closes a circle exactly when a way leads from b to
// a. The search goes outwards from b, so that the circle it names is one of
// the shortest. Few threads are usually within reach, so each is looked up
// by itself; a search that turns out to be long reads the whole graph at once.

// edge is one reference on the way to a thread.
type edge struct {
	id string // of the reference
	to string
}

type graph struct {
	r     storage.Reader
	asked int
	whole map[string][]edge
}

const manyLookups = 500

// from returns the references that a thread makes.
func (g *graph) from(thread string) ([]edge, error) {
	if g.asked++; g.asked > manyLookups && g.whole == nil {
		if err := g.read(); err != nil {
			return nil, err
		}
	}
	if g.whole != nil {
		return g.whole[thread], nil
	}
	var edges []edge
	err := eachEdge(g.r, fromKey(thread, ""), func(_ string, e edge) { edges = append(edges, e) })
	return edges, err
}

func (g *graph) read() error {
	g.whole = map[string][]edge{}
	return eachEdge(g.r, "refFrom/", func(from string, e edge) { g.whole[from] = append(g.whole[from], e) })
}

func eachEdge(r storage.Reader, under string, each func(from string, e edge)) error {
	for record, err := range r.Scan(under) {
		if err != nil {
			return err
		}
		var other fromEdge
		if err := record.Decode(&other); err != nil {
			return err
		}
		from, id, _ := strings.Cut(strings.TrimPrefix(strings.Clone(record.Key), "refFrom/"), "/")
		each(from, edge{id: id, to: other.Target})
	}
	return nil
}

// way returns the references that lead from a to b, and whether any do. From
// a thread to itself leads the empty way.
func (g *graph) way(a, b string) (edges []edge, found bool, err error) {
	type arrival struct {
		from string
		edge
	}
	came := map[string]arrival{a: {}}
	for queue := []string{a}; len(queue) > 0 && queue[0] != b; queue = queue[1:] {
		next, err := g.from(queue[0])
		if err != nil {
			return nil, false, err
		}
		for _, e := range next {
			if _, seen := came[e.to]; !seen {
				came[e.to] = arrival{queue[0], e}
				queue = append(queue, e.to)
			}
		}
	}
	if _, found := came[b]; !found {
		return nil, false, nil
	}
	for at := b; at != a; at = came[at].from {
		edges = append(edges, came[at].edge)
	}
	slices.Reverse(edges)
	return edges, true, nil
}

// refuseCircle returns T201 where a reference would close a circle.
func refuseCircle(r storage.Reader, from, target string) error {
	g := graph{r: r}
	back, found, err := g.way(target, from)
	if err != nil || !found {
		return err
	}
	return circle(from, target, back)
}

func circle(from, target string, back []edge) *errcodes.Error {
	path, references := []string{from, target}, []string{}
	for _, e := range back {
		path = append(path, e.to)
		references = append(references, e.id)
	}
	refused := errcodes.CircularReference.With("path", path, "references", references)
	if len(back) == 0 {
		return refused.Having("hint", "A thread cannot refer to itself: name another target")
	}
	return refused
}
