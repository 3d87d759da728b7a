package threads

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

// Check looks at every invariant of threads, objectives and injections:
// records decode and say their own id; states are known; objectives and
// parents exist, without a circle; the index of children holds exactly the
// children; bases are whole; the directories of threads are directories, and
// each belongs to a thread. Only what follows from other records has a
// repair, which is the index.
func Check(r storage.Reader) ([]storage.Check, error) {
	c := checking{r: r, objectives: map[string]bool{}, threads: map[string]Thread{}, rooted: map[string]bool{}, bases: map[string]string{}}
	var checks []storage.Check
	for _, step := range []struct {
		name string
		run  func(*storage.Check) error
	}{
		{"objectives", c.readObjectives}, {"threads", c.readThreads}, {"parents", c.checkParents}, {"bases", c.checkBases},
		{"children", c.checkIndex}, {"injections", c.checkInjections}, {"files", c.checkFiles},
	} {
		check := storage.Check{Name: step.name}
		if err := step.run(&check); err != nil {
			return checks, err
		}
		checks = append(checks, check)
	}
	return checks, nil
}

type checking struct {
	r          storage.Reader
	objectives map[string]bool   // the keys there are
	threads    map[string]Thread // by id, without their texts
	order      []string          // the ids of threads, sorted
	rooted     map[string]bool   // threads whose way up has an end
	bases      map[string]string // what is wrong with a base, once for all that share it
}

func find(check *storage.Check, subject string, code errcodes.Code, format string, values ...any) {
	check.Findings = append(check.Findings, storage.Finding{Subject: subject, Code: code, Message: fmt.Sprintf(format, values...)})
}

// mend gives the latest finding a repair.
func mend(check *storage.Check, repair func(*storage.Tx) error) {
	check.Findings[len(check.Findings)-1].Repair = repair
}

func (c *checking) readObjectives(check *storage.Check) error {
	for record, err := range c.r.Scan(objectiveKey("")) {
		if err != nil {
			return err
		}
		check.Count++
		o, err := decodeObjective(record)
		subject := strings.Clone(record.Key)
		c.objectives[subject] = true
		switch {
		case err != nil:
			find(check, subject, errcodes.StoreCorrupted, "%v", err)
		case objectiveKey(o.ID) != subject:
			find(check, subject, errcodes.StoreCorrupted, "the record says it is objective '%s'", objects.Printable(o.ID))
		case o.Status != ObjectiveActive && o.Status != ObjectiveCompleted:
			find(check, subject, errcodes.StoreCorrupted, "the objective has the unknown status '%s'", objects.Printable(o.Status))
		}
	}
	return nil
}

func (c *checking) readThreads(check *storage.Check) error {
	for record, err := range c.r.Scan(prefix) {
		if err != nil {
			return err
		}
		check.Count++
		t, err := decode(record)
		subject := strings.Clone(record.Key)
		if err != nil {
			find(check, subject, errcodes.StoreCorrupted, "%v", err)
			continue
		}
		if key(t.ID) != subject {
			find(check, subject, errcodes.StoreCorrupted, "the record says it is thread '%s'", objects.Printable(t.ID))
			t.ID = strings.TrimPrefix(subject, prefix)
		}
		if !known(t.Status) {
			find(check, subject, errcodes.StoreCorrupted, "the thread is in the unknown state '%s'", objects.Printable(string(t.Status)))
		}
		if !c.objectives[objectiveKey(t.ObjectiveID)] {
			find(check, key(t.ID), errcodes.ObjectiveNotFound, "its objective '%s' does not exist", objects.Printable(t.ObjectiveID))
		}
		t.Title, t.Intent, t.Tags, t.Scopes = "", "", nil, nil
		c.threads[t.ID] = t
		c.order = append(c.order, t.ID)
	}
	return nil
}

// inOrder gives the threads by their ids.
func (c *checking) inOrder(each func(Thread) error) error {
	for _, id := range c.order {
		if err := each(c.threads[id]); err != nil {
			return err
		}
	}
	return nil
}

func (c *checking) checkParents(check *storage.Check) error {
	return c.inOrder(func(t Thread) error {
		if t.ParentID == "" {
			return nil
		}
		check.Count++
		if _, found := c.threads[t.ParentID]; !found {
			find(check, key(t.ID), errcodes.ThreadNotFound, "its parent '%s' does not exist", objects.Printable(t.ParentID))
		}
		if c.circular(t) {
			find(check, key(t.ID), errcodes.StoreCorrupted, "the thread is its own ancestor")
		}
		return nil
	})
}

// circular reports whether the way up from t leads back to t. A circle further
// up is found at its own members.
func (c *checking) circular(t Thread) bool {
	way := []string{t.ID}
	for at := t.ParentID; at != "" && !c.rooted[at]; at = c.threads[at].ParentID {
		if at == t.ID {
			return true
		}
		if len(way) > len(c.threads) {
			return false
		}
		way = append(way, at)
	}
	for _, id := range way {
		c.rooted[id] = true
	}
	return false
}

func (c *checking) checkBases(check *storage.Check) error {
	return c.inOrder(func(t Thread) error {
		if t.Base == "" {
			return nil
		}
		check.Count++
		problem, looked := c.bases[t.Base]
		if !looked {
			problem = c.baseProblem(t.Base)
			c.bases[t.Base] = problem
		}
		if problem != "" {
			find(check, key(t.ID), errcodes.ReadFailed, "what the thread inherited is damaged: %s", problem)
		}
		return nil
	})
}

func (c *checking) baseProblem(base string) string {
	snapshot, err := objects.Load(c.r.Dir(), base)
	if err == nil {
		err = snapshot.Whole(c.r.Dir())
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// checkIndex compares the index of children with the threads, both ways.
func (c *checking) checkIndex(check *storage.Check) error {
	indexed := map[string]bool{}
	for record, err := range c.r.Scan("child/") {
		if err != nil {
			return err
		}
		check.Count++
		entry := strings.Clone(record.Key)
		parent, id, _ := strings.Cut(strings.TrimPrefix(entry, "child/"), "/")
		if t, found := c.threads[id]; found && t.ParentID == parent {
			indexed[id] = true
			continue
		}
		find(check, entry, errcodes.StoreCorrupted, "the index has '%s' as a child of '%s', which it is not", id, parent)
		mend(check, func(tx *storage.Tx) error { return tx.Delete(entry) })
	}
	return c.inOrder(func(t Thread) error {
		if t.ParentID != "" && !indexed[t.ID] {
			find(check, key(t.ID), errcodes.StoreCorrupted, "the thread is missing in the index of the children of '%s'", t.ParentID)
			mend(check, func(tx *storage.Tx) error { return index(tx, t) })
		}
		return nil
	})
}

func (c *checking) checkInjections(check *storage.Check) error {
	for record, err := range c.r.Scan("injection/") {
		if err != nil {
			return err
		}
		check.Count++
		var i Injection
		subject := strings.Clone(record.Key)
		thread, _, _ := strings.Cut(strings.TrimPrefix(subject, "injection/"), "/")
		if err := record.Decode(&i); err != nil {
			find(check, subject, errcodes.StoreCorrupted, "%v", err)
			continue
		}
		if _, found := c.threads[thread]; !found {
			find(check, subject, errcodes.ThreadNotFound, "its thread does not exist")
		}
	}
	return nil
}

// checkFiles looks at the directories of threads. One that is missing is made
// when it is needed.
func (c *checking) checkFiles(check *storage.Check) error {
	entries, err := storage.ReadDir(c.r.Dir(), "threads")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		find(check, "threads", errcodes.WriteFailed, "%v", err)
		return nil
	}
	all, err := c.r.Dir().OpenRoot("threads")
	if err == nil {
		defer all.Close()
	}
	for _, entry := range entries {
		check.Count++
		if _, known := c.threads[entry.Name()]; !known || err != nil || !ordinary(all, entry) {
			c.checkDir(check, entry.Name(), known)
		}
	}
	return nil
}

// ordinary reports whether a thread's directory is as it was made, in fewer
// calls than it takes to open it: there are as many as threads.
func ordinary(all *os.Root, entry fs.DirEntry) bool {
	info, err := all.Lstat(entry.Name() + "/artifacts")
	return err == nil && entry.IsDir() && info.IsDir() && info.Mode().Perm()&0o500 == 0o500
}

func (c *checking) checkDir(check *storage.Check, name string, known bool) {
	at := "threads/" + name
	files, err := artifactsIn(c.r.Dir(), name)
	switch {
	case err != nil:
		find(check, at, errcodes.WriteFailed, "%v", err)
	case !known && files > 0:
		find(check, at, errcodes.ThreadNotFound, "there are files of thread '%s', which the store does not know", objects.Printable(name))
	}
}

// artifactsIn counts what stands in a thread's directory of artifacts.
func artifactsIn(dir *os.Root, id string) (int, error) {
	root, err := objects.OpenTree(dir, ArtifactsDir(id))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	return len(entries), err
}
