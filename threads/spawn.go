package threads

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

// Spawn is what a new thread is to be. Only Intent is required.
type Spawn struct {
	ID          string // "" makes one
	Title       string // "" takes the first line of Intent
	Intent      string
	ObjectiveID string // "" takes the parent's, then DefaultObjective, then obj-default
	ParentID    string
	Inherit     string   // none, full or partial; "" is full with a parent, else none
	Scopes      []string // what partial inherits, and where the thread says it works
	Tags        []string
	Executor    string // agent (default) or human
	Kind        string // work (default), session, loop, run or task
	Actor       string // who spawns it

	DefaultObjective string // the caller's own, before obj-default
}

// Spawned is a new thread and the paths of the artifacts it inherited, sorted.
type Spawned struct {
	Thread    Thread
	Inherited []string
}

// Kinds returns what a thread can be.
func Kinds() []string { return []string{"work", "session", "loop", "run", "task"} }

// Executors returns who can work on a thread.
func Executors() []string { return []string{"agent", "human"} }

// New makes an active thread with its own artifacts directory, in which it
// finds copies of what it inherits; Base is the snapshot of that. It fails
// with T103 (the id is taken), T101 (no such parent), T102 (archived parent),
// T601 or T603 (its objective is missing or completed) and T903. An active
// sibling that works in the same scope is a warning (W105).
func New(tx *storage.Tx, s Spawn) (Spawned, error) {
	s = s.withDefaults()
	if err := s.check(); err != nil {
		return Spawned{}, err
	}
	parent, err := parentOf(tx, s)
	if err != nil {
		return Spawned{}, err
	}
	if s.ID, err = freshID(tx, s.ID); err != nil {
		return Spawned{}, err
	}
	objective, err := objectiveFor(tx, s, parent)
	if err != nil {
		return Spawned{}, err
	}
	t := s.thread(tx, objective)
	inherited, err := inherit(tx, &t)
	if err != nil {
		return Spawned{}, err
	}
	if err := warnShared(tx, t); err != nil {
		return Spawned{}, err
	}
	if err := index(tx, t); err != nil {
		return Spawned{}, err
	}
	t, err = save(tx, t)
	return Spawned{Thread: t, Inherited: inherited}, err
}

func (s Spawn) withDefaults() Spawn {
	if s.Inherit == "" && s.ParentID != "" {
		s.Inherit = "full"
	}
	s.Inherit = cmp.Or(s.Inherit, "none")
	s.Kind = cmp.Or(s.Kind, "work")
	s.Executor = cmp.Or(s.Executor, "agent")
	s.Title = cmp.Or(s.Title, titleOf(s.Intent))
	s.Tags, s.Scopes = distinct(s.Tags), distinct(s.Scopes)
	return s
}

func (s Spawn) check() error {
	if err := oneOf("inherit", s.Inherit, []string{"none", "full", "partial"}); err != nil {
		return err
	}
	switch {
	case s.Inherit != "none" && s.ParentID == "":
		return usage("only a thread with a parent can inherit; '" + s.Inherit + "' needs one")
	case s.Inherit == "partial" && len(s.Scopes) == 0:
		return usage("to inherit partially, say what: a scope is missing")
	case s.Inherit != "partial" && len(s.Scopes) > 0:
		return usage("scopes say what is inherited partially; with '" + s.Inherit + "' they have no meaning")
	}
	for _, err := range []error{
		oneOf("kind", s.Kind, Kinds()),
		oneOf("executor", s.Executor, Executors()),
		checkWords("the intent", s.Intent, longestText, lineCharacters),
		checkWords("the title", s.Title, longestTitle, ""),
		checkTags(s.Tags),
		objects.CheckScopes(s.Scopes),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func oneOf(what, value string, known []string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return errcodes.Usage.With("problem", what+" '"+objects.Printable(value)+"' is unknown", "allowed", known)
}

// parentOf returns the parent, or the zero Thread where there is none.
func parentOf(tx *storage.Tx, s Spawn) (Thread, error) {
	if s.ParentID == "" {
		return Thread{}, nil
	}
	parent, err := Find(tx, s.ParentID)
	if err != nil {
		return Thread{}, err
	}
	return parent, writable(parent, "spawn")
}

func freshID(tx *storage.Tx, given string) (string, error) {
	if given == "" {
		return newID(tx, "thread-", key)
	}
	if err := CheckID(given); err != nil {
		return "", err
	}
	_, taken, err := tx.Get(key(given))
	if err == nil && taken {
		err = errcodes.ThreadExists.With("threadId", given)
	}
	return given, err
}

// newID makes an id that no record has.
func newID(tx *storage.Tx, kind string, key func(id string) string) (string, error) {
	for range 10 {
		id := tx.NewID(kind)
		_, taken, err := tx.Get(key(id))
		if err != nil || !taken {
			return id, err
		}
	}
	return "", errcodes.Internal.With("problem", "no id could be found that is not taken")
}

func (s Spawn) thread(tx *storage.Tx, objective string) Thread {
	return Thread{
		ID: s.ID, Kind: s.Kind, Title: s.Title, Intent: s.Intent,
		ObjectiveID: objective, ParentID: s.ParentID,
		Status: Active, Executor: s.Executor, Tags: s.Tags, Scopes: s.Scopes, Inherit: s.Inherit,
		CreatedBy: s.Actor, CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
	}
}

// inherit gives t its directory, and there what it takes from its parent.
func inherit(tx *storage.Tx, t *Thread) ([]string, error) {
	if err := makeOwnDir(tx, t.ID); err != nil {
		return nil, err
	}
	if t.Inherit == "none" {
		return []string{}, nil
	}
	snapshot, err := objects.Capture(tx, ArtifactsDir(t.ParentID), t.Scopes)
	if err != nil {
		return nil, err
	}
	t.Base = snapshot.ID
	for _, entry := range snapshot.Entries {
		old, err := keepOld(tx, t.ID, entry.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, artifactFault(t.ID, entry.Path, err)
		}
		if err := tx.Publish(file(t.ID, entry, old.SHA256)); err != nil {
			return nil, err
		}
	}
	return snapshot.Paths(), nil
}

// makeOwnDir makes the directory of a thread. One may be there already, but
// no files in it: they would be another's, of whom the store knows nothing
// any more, and the new thread would have them as its own.
func makeOwnDir(tx *storage.Tx, id string) error {
	root, err := objects.OpenTree(tx.Dir(), ArtifactsDir(id))
	switch {
	case err == nil:
		defer root.Close()
		if files, err := fs.ReadDir(root.FS(), "."); err != nil || len(files) > 0 {
			return errcodes.ThreadExists.With("threadId", id).
				Having("hint", "Its files are there, though the store does not know it: choose another id, or move threads/"+id+" away")
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return tx.MakeDir(ArtifactsDir(id))
}

func index(tx *storage.Tx, t Thread) error {
	if t.ParentID == "" {
		return nil
	}
	_, err := tx.Put(childKey(t.ParentID, t.ID), struct{}{})
	return err
}

// warnShared warns of active siblings whose scopes meet those of t (W105).
func warnShared(tx *storage.Tx, t Thread) error {
	if len(t.Scopes) == 0 {
		return nil
	}
	siblings, err := Children(tx, t.ParentID)
	if err != nil {
		return err
	}
	for _, id := range siblings {
		sibling, err := Find(tx, id)
		if err != nil {
			return err
		}
		if scope, shared := sharedScope(t, sibling); shared && sibling.Status == Active {
			tx.Warn(errcodes.ScopeShared.Warn("threadId", t.ID, "other", sibling.ID, "path", scope))
		}
	}
	return nil
}

// sharedScope returns the first scope of t that meets one of other's.
func sharedScope(t, other Thread) (string, bool) {
	for _, mine := range t.Scopes {
		for _, theirs := range other.Scopes {
			if objects.Overlap(mine, theirs) {
				return mine, true
			}
		}
	}
	return "", false
}
