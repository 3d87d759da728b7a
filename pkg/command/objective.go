package command

import (
	"time"

	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

var objectiveCommand = &command{name: "objective", summary: "what threads work for", group: true}

var objectiveCreateCommand = &command{
	name:    "objective create",
	summary: "make an objective",
	flags: []flagSpec{
		{name: "title", value: "TEXT", required: true, summary: "what is to be reached"},
		{name: "id", value: "ID", kind: ident, summary: "its id, else one is made"},
	},
	writes: true,
	data:   objectiveData{},
	run:    runObjectiveCreate,
}

var objectiveListCommand = &command{
	name:    "objective list",
	summary: "show the objectives",
	flags:   []flagSpec{limitFlag, {name: "before", value: "ID", kind: ident, summary: "only those changed earlier than this one"}},
	data:    objectivesData{},
	run:     runObjectiveList,
}

var objectiveStatusCommand = &command{
	name:    "objective status",
	summary: "show one objective with its threads",
	args:    []argSpec{{name: "OBJECTIVE", kind: ident}},
	flags:   []flagSpec{limitFlag},
	data:    objectiveStatusData{},
	run:     runObjectiveStatus,
}

var objectiveCompleteCommand = &command{
	name:    "objective complete",
	summary: "close an objective whose threads are all finished",
	args:    []argSpec{{name: "OBJECTIVE", kind: ident}},
	writes:  true,
	data:    objectiveData{},
	run:     runObjectiveComplete,
}

// limitFlag bounds a list.
var limitFlag = flagSpec{name: "limit", value: "N", kind: number, min: 1, max: mostElements, summary: "how many at most (50)"}

// mostElements is how many elements --limit may ask for.
const mostElements = 1_000_000

// usualLimit is how many elements a list has where --limit does not say.
const usualLimit = 50

type objectiveData struct {
	ObjectiveID string `json:"objectiveId"`
	Title       string `json:"title"`
	Status      string `json:"status"`
	written
}

type objectiveShape struct {
	ID        string         `json:"id"`
	Title     string         `json:"title"`
	Status    string         `json:"status"`
	ThreadIDs []string       `json:"threadIds,omitzero"`
	Counts    map[string]int `json:"counts,omitempty"`
	Total     int            `json:"total,omitempty"`
	CreatedAt time.Time      `json:"createdAt"`
	UpdatedAt time.Time      `json:"updatedAt"`
	Revision  int64          `json:"revision"`
}

type objectivesData struct {
	Objectives []objectiveShape `json:"objectives"`
	Count      int              `json:"count"`
	Next       string           `json:"next,omitempty"`
}

type objectiveStatusData struct {
	Objective objectiveShape `json:"objective"`
	Next      string         `json:"next,omitempty"`
}

func runObjectiveCreate(c *call) (any, error) {
	objective, durable, err := update(c, "", func(tx *storage.Tx) (threads.Objective, error) {
		return threads.CreateObjective(tx, c.text("id"), c.text("title"))
	})
	if err != nil {
		return nil, err
	}
	return objectiveAnswer(objective, durable), nil
}

func runObjectiveComplete(c *call) (any, error) {
	c.objectiveID = c.arg(0)
	objective, durable, err := update(c, "", func(tx *storage.Tx) (threads.Objective, error) {
		return threads.CompleteObjective(tx, c.arg(0))
	})
	if err != nil {
		return nil, err
	}
	return objectiveAnswer(objective, durable), nil
}

func objectiveAnswer(o threads.Objective, durable written) objectiveData {
	return objectiveData{ObjectiveID: o.ID, Title: o.Title, Status: string(o.Status), written: durable.at(o.Revision)}
}

func runObjectiveList(c *call) (any, error) {
	limit := c.number("limit", usualLimit)
	return view(c, func(v *storage.View) (objectivesData, error) {
		objectives, more, err := threads.Objectives(v, limit, c.text("before"))
		data := objectivesData{Objectives: make([]objectiveShape, 0, len(objectives)), Count: len(objectives)}
		for _, o := range objectives {
			data.Objectives = append(data.Objectives, shapeOfObjective(o))
		}
		if len(objectives) > 0 {
			data.Next = c.older(more, objectives[0].ID)
		}
		return data, err
	})
}

func shapeOfObjective(o threads.Objective) objectiveShape {
	return objectiveShape{
		ID: o.ID, Title: o.Title, Status: string(o.Status),
		CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt, Revision: o.Revision,
	}
}

func runObjectiveStatus(c *call) (any, error) {
	id, limit := c.arg(0), c.number("limit", usualLimit)
	c.objectiveID = id
	return view(c, func(v *storage.View) (objectiveStatusData, error) {
		objective, err := threads.FindObjective(v, id)
		if err != nil {
			return objectiveStatusData{}, err
		}
		members, counts, err := threads.Members(v, id)
		if err != nil {
			return objectiveStatusData{}, err
		}
		shape := shapeOfObjective(objective)
		shape.Total, shape.Counts = len(members), make(map[string]int, len(counts))
		for status, n := range counts {
			shape.Counts[string(status)] = n
		}
		shape.ThreadIDs = append([]string{}, members[:min(limit, len(members))]...)
		data := objectiveStatusData{Objective: shape}
		if len(members) > limit {
			data.Next = c.page("list", "--all", "--objective", id)
		}
		return data, nil
	})
}
