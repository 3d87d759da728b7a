package refs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

// Check looks at every invariant of references: records decode and say their
// own id, the referring thread exists, both indexes hold exactly the
// references, snapshots and their copies are whole, and there is no circle.
// An index is mended from the record, a copy from its object.
func Check(r storage.Reader) ([]storage.Check, error) {
	c := checking{r: r, refs: map[string]Reference{}, threads: map[string]bool{}}
	var checks []storage.Check
	for _, step := range []struct {
		name string
		run  func(*storage.Check) error
	}{
		{"references", c.read}, {"reference indexes", c.checkIndexes}, {"snapshots", c.checkSnapshots}, {"circles", c.checkCircles},
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
	r       storage.Reader
	refs    map[string]Reference
	threads map[string]bool // the keys there are
}

func find(check *storage.Check, subject string, code errcodes.Code, repair func(*storage.Tx) error, format string, values ...any) {
	check.Findings = append(check.Findings, storage.Finding{Subject: subject, Code: code, Message: fmt.Sprintf(format, values...), Repair: repair})
}

// readThreads reads which threads there are, all at once: there may be as many
// references as threads.
func (c *checking) readThreads() error {
	for record, err := range c.r.Scan(threadKey("")) {
		if err != nil {
			return err
		}
		c.threads[record.Key] = true
	}
	return nil
}

func (c *checking) read(check *storage.Check) error {
	if err := c.readThreads(); err != nil {
		return err
	}
	for record, err := range c.r.Scan(prefix) {
		if err != nil {
			return err
		}
		check.Count++
		subject := strings.Clone(record.Key)
		ref, err := decoded(record)
		if err != nil {
			find(check, subject, errcodes.StoreCorrupted, nil, "%v", err)
			continue
		}
		if key(ref.ID) != subject {
			find(check, subject, errcodes.StoreCorrupted, nil, "the record says it is reference '%s'", objects.Printable(ref.ID))
			continue
		}
		c.refs[ref.ID] = ref
		if err := ref.check(); err != nil {
			find(check, subject, errcodes.StoreCorrupted, nil, "%v", err)
		}
		if !c.threads[threadKey(ref.From)] {
			find(check, subject, errcodes.ThreadNotFound, nil, "its thread '%s' does not exist", objects.Printable(ref.From))
		}
	}
	return nil
}

func (c *checking) inOrder(each func(Reference)) {
	for _, id := range slices.Sorted(maps.Keys(c.refs)) {
		each(c.refs[id])
	}
}

// checkIndexes compares both indexes with the references, both ways.
func (c *checking) checkIndexes(check *storage.Check) error {
	wanted := map[string]string{}
	for _, ref := range c.refs {
		wanted[fromKey(ref.From, ref.ID)] = ref.Target
		wanted[targetKey(ref.Target, ref.ID)] = ref.From
	}
	right := map[string]bool{}
	for _, under := range []string{"refFrom/", "refTarget/"} {
		for record, err := range c.r.Scan(under) {
			if err != nil {
				return err
			}
			check.Count++
			c.checkIndexed(check, record, wanted, right)
		}
	}
	c.inOrder(func(ref Reference) {
		if !right[fromKey(ref.From, ref.ID)] || !right[targetKey(ref.Target, ref.ID)] {
			find(check, key(ref.ID), errcodes.StoreCorrupted, func(tx *storage.Tx) error { return index(tx, ref) },
				"the reference is missing in an index, or is wrong there")
		}
	})
	return nil
}

func (c *checking) checkIndexed(check *storage.Check, record storage.Record, wanted map[string]string, right map[string]bool) {
	var both struct {
		fromEdge
		targetEdge
	}
	entry := strings.Clone(record.Key)
	other, found := wanted[entry]
	if !found {
		find(check, entry, errcodes.StoreCorrupted, func(tx *storage.Tx) error { return tx.Delete(entry) },
			"the index has a reference that does not exist")
		return
	}
	err := record.Decode(&both)
	right[entry] = err == nil && both.Target+both.From == other
}

func (c *checking) checkSnapshots(check *storage.Check) error {
	c.inOrder(func(ref Reference) {
		if ref.Snapshot == "" {
			return
		}
		check.Count++
		snapshot, err := objects.Load(c.r.Dir(), ref.Snapshot)
		if err == nil {
			err = snapshot.Whole(c.r.Dir())
		}
		if err != nil {
			find(check, key(ref.ID), errcodes.TargetCorrupted, nil, "its snapshot is damaged: %v", err)
			return
		}
		c.checkCopies(check, ref, snapshot)
	})
	return nil
}

// checkCopies compares the copies with the snapshot.
func (c *checking) checkCopies(check *storage.Check, ref Reference, snapshot objects.Snapshot) {
	root, err := objects.OpenTree(c.r.Dir(), ref.copies())
	if err == nil {
		defer root.Close()
	}
	for _, entry := range snapshot.Entries {
		problem := err
		if err == nil {
			problem = ref.verify(root, entry)
		}
		if problem != nil {
			find(check, ref.copies()+"/"+entry.Path, errcodes.TargetCorrupted,
				func(tx *storage.Tx) error { return ref.copyAgain(tx, entry) }, "the copy is missing or was changed")
		}
	}
}

// copyAgain puts a copy in its place once more. What was there instead is kept
// as an object; where that cannot be, it stays.
func (ref Reference) copyAgain(tx *storage.Tx, entry objects.Entry) error {
	root, err := objects.OpenTree(tx.Dir(), ref.copies())
	var instead objects.Entry
	if err == nil {
		defer root.Close()
		instead, err = objects.KeepFile(tx, root, entry.Path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return objects.Fault(ref.copies()+"/"+entry.Path, err)
	}
	return tx.Publish(ref.copyOf(entry, instead.SHA256))
}

// checkCircles takes away, again and again, threads that no reference leads
// to. What remains is on a circle, or is led to by one.
func (c *checking) checkCircles(check *storage.Check) error {
	from, led := map[string][]string{}, map[string]int{}
	for _, ref := range c.refs {
		check.Count++
		from[ref.From] = append(from[ref.From], ref.Target)
		led[ref.Target]++
	}
	var free []string
	for thread := range from {
		if led[thread] == 0 {
			free = append(free, thread)
		}
	}
	for ; len(free) > 0; free = free[1:] {
		for _, target := range from[free[0]] {
			if led[target]--; led[target] == 0 {
				free = append(free, target)
			}
		}
		delete(from, free[0])
	}
	return c.nameCircle(check, from)
}

// nameCircle reports one circle among threads that are known to have one.
func (c *checking) nameCircle(check *storage.Check, remaining map[string][]string) error {
	g := graph{r: c.r, whole: map[string][]edge{}}
	for _, ref := range c.refs {
		g.whole[ref.From] = append(g.whole[ref.From], edge{id: ref.ID, to: ref.Target})
	}
	for _, thread := range slices.Sorted(maps.Keys(remaining)) {
		for _, target := range slices.Sorted(slices.Values(remaining[thread])) {
			back, found, err := g.way(target, thread)
			if err != nil {
				return err
			}
			if found {
				err := circle(thread, target, back)
				find(check, threadKey(thread), err.Code, nil, "%v", err)
				return nil
			}
		}
	}
	return nil
}
