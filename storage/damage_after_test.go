package storage

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
)

// goesOn writes to the damaged store, and mends what does not take it.
func (b *bench) goesOn(tr trial, class string, held map[string]string) (string, string) {
	before := filesOf(b, b.store.path)
	_, warnings, err := b.store.Update(ctx, Operation{Name: "after"}, func(tx *Tx) error {
		_, err := tx.Put("thread/thread-after", item{Name: "after"})
		return err
	})
	after := filesOf(b, b.store.path)
	switch {
	case err != nil && !errors.Is(err, errcodes.StoreCorrupted) && !errors.Is(err, errcodes.NewerSchema):
		return wrong, "writing: " + err.Error()
	case err != nil && !maps.EqualFunc(before, after, bytes.Equal):
		return overwritten, "a write that was refused has changed files"
	case err != nil && class != refused && class != refusedNewer:
		return wrong, "what could be read is not written: " + err.Error()
	case class == refusedNewer:
		return class, ""
	case err != nil:
		return class, b.repairs(before)
	case class == refused:
		return class, b.logged(before, after, warnings)
	}
	if lost := b.lost(tr, before, after); lost != "" {
		return overwritten, lost
	}
	return class, b.written(tr, class, held)
}

// logged accepts a write to a store of which a part is beyond recovery, when nothing was done but to log it.
func (b *bench) logged(before, after map[string][]byte, warnings errcodes.Warnings) string {
	for path, data := range before {
		if !bytes.HasPrefix(after[path], data) {
			return path + " was changed by a write to a store that cannot be read"
		}
	}
	if len(warnings) == 0 && !b.large() {
		return "a write to a store that cannot be read is silent"
	}
	return ""
}

// lost names what a write has overwritten although it was good: an intact line of
// the log, or the backup beside a state file that was not.
func (b *bench) lost(tr trial, before, after map[string][]byte) string {
	kept := map[string]bool{}
	for _, t := range traces(after) {
		kept[t.path+t.text] = true
	}
	for _, t := range traces(before) {
		if strings.HasPrefix(t.path, opsPath) && !kept[t.path+t.text] {
			return fmt.Sprintf("operation %d is no longer in %s", t.seq, t.path)
		}
	}
	_, state := tr.files[statePath]
	_, backup := tr.files[backupPath]
	if state && !backup && !b.silent(trial{files: map[string][]byte{statePath: tr.files[statePath]}}) && !bytes.Equal(before[backupPath], after[backupPath]) {
		return "the good backup is gone"
	}
	return ""
}

// large reports whether a write does not rewrite the state file: it meets only the
// damage that is in its way.
func (b *bench) large() bool { return len(b.files[statePath]) > smallState }

// written checks the store after a write: everything is there, nothing is
// told any more, and the doctor is content, at once or after his repair of
// what no command has needed.
func (b *bench) written(tr trial, class string, held map[string]string) string {
	want := maps.Clone(held)
	now, warnings, err := b.reads()
	want["thread/thread-after"] = now["thread/thread-after"]
	switch {
	case err != nil || !maps.Equal(now, want) || now["thread/thread-after"] == "":
		return fmt.Sprintf("after the next write %d records, not %d: %v", len(now), len(want), err)
	case len(warnings) > 0 && !b.large():
		return fmt.Sprintf("after the next write: %v", warnings)
	}
	findings := b.findings()
	if findings == "" {
		return ""
	}
	if class != rightSilent && !tr.inOlderLog(b.scene) && !b.large() {
		return "after the next write: " + findings
	}
	_, _, err = b.store.Repair(ctx, Operation{Name: "repair"})
	if again, _, _ := b.reads(); err != nil || !maps.Equal(again, now) {
		return fmt.Sprintf("the repair of %s: %v", findings, err)
	}
	if findings = b.findings(); findings != "" {
		return "after the repair: " + findings
	}
	return ""
}

// inOlderLog reports whether a file of the log is damaged that no command needs.
func (tr trial) inOlderLog(s *scene) bool {
	for path := range tr.files {
		if strings.HasPrefix(path, opsPath) && path != s.currentLog() {
			return true
		}
	}
	return false
}

// repairs saves what is left of a store that cannot be recovered.
func (b *bench) repairs(before map[string][]byte) string {
	_, warnings, err := b.store.Repair(ctx, Operation{Name: "repair"})
	if err != nil || len(warnings) == 0 {
		return fmt.Sprintf("the repair: %v %v", warnings, err)
	}
	held, warnings, err := b.reads()
	if err != nil || len(warnings) > 0 {
		return fmt.Sprintf("after the repair: %v %v", warnings, err)
	}
	for key, value := range held {
		if !slices.ContainsFunc(b.past, func(then moment) bool { return then.held[key] == value }) {
			return fmt.Sprintf("the repair has saved %s %s, which was never there", key, value)
		}
	}
	if key := unsaved(before, held); key != "" {
		return "the repair has not saved " + key
	}
	if findings := b.findings(); findings != "" {
		return "after the repair: " + findings
	}
	return b.keptDamaged(before)
}

// keptDamaged checks that the damaged files are still to be had after a repair.
func (b *bench) keptDamaged(before map[string][]byte) string {
	after := filesOf(b, b.store.path)
	for path, data := range before {
		if strings.HasPrefix(path, opsPath+"/") && !bytes.Equal(after[path], data) {
			return path + " was not kept"
		}
		kept := slices.ContainsFunc(slices.Collect(maps.Keys(after)), func(name string) bool {
			return strings.HasPrefix(name, damagedPath) && strings.HasSuffix(name, "/"+path) && bytes.Equal(after[name], data)
		})
		if (path == statePath || path == backupPath) && !kept {
			return path + " was not kept"
		}
	}
	return ""
}
