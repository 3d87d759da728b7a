package command

import (
	"github.com/leslie-sh/leslie/refs"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

var spawnCommand = &command{
	name:    "spawn",
	summary: "start a thread",
	flags: []flagSpec{
		{name: "intent", value: "TEXT", required: true, summary: "what the thread is to do"},
		{name: "title", value: "TEXT", summary: "its name, else the beginning of the intent"},
		{name: "objective", value: "ID", kind: ident, summary: "the objective it works for, else the parent's", env: "LESLIE_OBJECTIVE"},
		{name: "parent", value: "ID", kind: ident, summary: "the thread it belongs to, else --thread"},
		{name: "inherit", kind: choice, allowed: []string{"none", "full", "partial"}, summary: "what of the parent's artifacts it begins with"},
		{name: "scope", value: "PATH", repeat: true, summary: "with --inherit partial: which artifacts"},
		{name: "ref", value: "ID", kind: ident, repeat: true, summary: "a thread it refers to, frozen"},
		{name: "tag", value: "TAG", repeat: true, summary: "a word to find it by"},
		{name: "executor", kind: choice, allowed: executors, summary: "who does the work (agent)"},
		{name: "id", value: "ID", kind: ident, summary: "its id, else one is made"},
		{name: "count", value: "N", kind: number, min: 1, max: 10000, summary: "how many such threads"},
	},
	writes: true,
	data:   spawnData{},
	run:    runSpawn,
}

var executors = []string{"agent", "human"}

// mostIDs is how many ids the answer to spawn --count names.
const mostIDs = 100

type spawnData struct {
	ThreadID    string   `json:"threadId,omitempty"`
	ParentID    string   `json:"parentId,omitempty"`
	ObjectiveID string   `json:"objectiveId"`
	Status      string   `json:"status"`
	StoragePath string   `json:"storagePath,omitempty"`
	Inherited   []string `json:"inherited,omitzero"`
	References  []string `json:"references,omitempty"`
	Count       int      `json:"count,omitempty"`
	FirstID     string   `json:"firstId,omitempty"`
	LastID      string   `json:"lastId,omitempty"`
	ThreadIDs   []string `json:"threadIds,omitempty"`
	written
}

// brood is what one spawn makes.
type brood struct {
	threads    []threads.Spawned
	references []string
}

func runSpawn(c *call) (any, error) {
	spawn, err := spawnOptions(c)
	if err != nil {
		return nil, err
	}
	made, durable, err := update(c, "", func(tx *storage.Tx) (brood, error) {
		return spawnAll(tx, spawn, c.number("count", 1), c.list("ref"))
	})
	if err != nil {
		return nil, err
	}
	first := made.threads[0].Thread
	c.concern(first)
	if c.given("count") {
		return spawnedMany(made, durable), nil
	}
	return spawnData{
		ThreadID: first.ID, ParentID: first.ParentID, ObjectiveID: first.ObjectiveID,
		Status: string(first.Status), StoragePath: c.path("threads", first.ID),
		Inherited:  append([]string{}, made.threads[0].Inherited...),
		References: made.references, written: durable.at(first.Revision),
	}, nil
}

func spawnOptions(c *call) (threads.Spawn, error) {
	if c.given("count") && c.given("id") {
		return threads.Spawn{}, c.noSuch("--id names one thread and --count makes many", "--id")
	}
	parent := c.text("parent")
	if parent == "" {
		parent = c.thread
	}
	return threads.Spawn{
		ID: c.text("id"), Title: c.text("title"), Intent: c.text("intent"),
		ObjectiveID: c.text("objective"), DefaultObjective: c.env.value("LESLIE_OBJECTIVE"),
		ParentID: parent, Inherit: c.text("inherit"), Scopes: c.list("scope"), Tags: c.list("tag"),
		Executor: c.text("executor"), Actor: callerOf(c.as, c.env),
	}, nil
}

// spawnAll makes the threads and their references in one transaction.
func spawnAll(tx *storage.Tx, spawn threads.Spawn, count int, targets []string) (brood, error) {
	var made brood
	for range count {
		one, err := threads.New(tx, spawn)
		if err != nil {
			return brood{}, err
		}
		made.threads = append(made.threads, one)
		for _, target := range targets {
			added, err := refs.Add(tx, one.Thread.ID, target, nil, refs.Frozen)
			if err != nil {
				return brood{}, err
			}
			made.references = append(made.references, added.Reference.ID)
		}
	}
	return made, nil
}

func spawnedMany(made brood, durable written) spawnData {
	all := made.threads
	data := spawnData{
		ObjectiveID: all[0].Thread.ObjectiveID, ParentID: all[0].Thread.ParentID, Status: string(all[0].Thread.Status),
		Count: len(all), FirstID: all[0].Thread.ID, LastID: all[len(all)-1].Thread.ID,
		written: durable.at(all[0].Thread.Revision),
	}
	for _, one := range all[:min(mostIDs, len(all))] {
		data.ThreadIDs = append(data.ThreadIDs, one.Thread.ID)
	}
	return data
}
