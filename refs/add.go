package refs

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
)

// Added is a reference and the paths of the artifacts that were copied for
// it just now, sorted; never nil.
type Added struct {
	Reference Reference
	Copied    []string
}

// Add makes a reference from a thread to a target; "" binds frozen. A frozen
// one has a snapshot of those artifacts of the target that scopes cover (no
// scopes: all), with read-only copies for the referring thread. A target that
// does not exist, or cannot be read, is recorded as unresolved, with a
// warning (W202).
//
// It fails with T101 (no such referring thread), T102 (it is archived), T201
// (the reference would close a circle: path goes from the referring thread
// round to itself, references are those that are there already), T503 and
// T903.
func Add(tx *storage.Tx, from, target string, scopes []string, b Binding) (Added, error) {
	ref := Reference{From: from, Target: target, Scopes: slices.Clone(scopes), Binding: cmp.Or(b, Frozen), CreatedAt: tx.Now()}
	if err := ref.check(); err != nil {
		return Added{}, err
	}
	if err := writable(tx, from, "reference"); err != nil {
		return Added{}, err
	}
	if err := refuseCircle(tx, from, target); err != nil {
		return Added{}, err
	}
	id, err := newID(tx)
	if err != nil {
		return Added{}, err
	}
	ref.ID = id
	copied, err := resolve(tx, &ref)
	if err != nil {
		return Added{}, err
	}
	if err := index(tx, ref); err != nil {
		return Added{}, err
	}
	ref, err = save(tx, ref)
	return Added{Reference: ref, Copied: copied}, err
}

func (ref Reference) check() error {
	if err := objects.CheckID(ref.From); err != nil {
		return err
	}
	if err := objects.CheckID(ref.Target); err != nil {
		return err
	}
	if !slices.Contains(Bindings(), ref.Binding) {
		return errcodes.Usage.With("problem", "binding '"+objects.Printable(string(ref.Binding))+"' is unknown",
			"allowed", []string{string(Frozen), string(Live)})
	}
	return objects.CheckScopes(ref.Scopes)
}

// writable returns T101 where the thread does not exist, T102 where it is archived.
func writable(r storage.Reader, threadID, action string) error {
	record, found, err := r.Get(threadKey(threadID))
	if err != nil {
		return err
	}
	if !found {
		return objects.Unknown(r, threadKey(""), threadID, errcodes.ThreadNotFound.With("threadId", threadID))
	}
	var thread struct {
		Status string `json:"status"`
	}
	if err := record.Decode(&thread); err != nil || thread.Status != archived {
		return err
	}
	return errcodes.InvalidTransition.With("threadId", threadID, "from", archived, "to", "active",
		"current", archived, "action", action, "allowed", []string{})
}

const archived = "archived"

func newID(tx *storage.Tx) (string, error) {
	for range 10 {
		id := tx.NewID("ref-")
		_, taken, err := tx.Get(key(id))
		if err != nil || !taken {
			return id, err
		}
	}
	return "", errcodes.Internal.With("problem", "no id could be found that is not taken")
}

// resolve looks for the target of ref and, for a frozen one, copies what it
// has now as the next version. Where it cannot it warns and leaves ref as it is.
func resolve(tx *storage.Tx, ref *Reference) ([]string, error) {
	_, found, err := tx.Get(threadKey(ref.Target))
	if err != nil {
		return nil, err
	}
	if !found {
		unresolved(tx, *ref, "thread not found")
		return []string{}, nil
	}
	if ref.Binding == Live {
		ref.TargetResolved = true
		return []string{}, nil
	}
	snapshot, err := objects.Capture(tx, ref.artifacts(), ref.Scopes)
	if errors.Is(err, objects.ErrNotDir) || errors.Is(err, errcodes.ReadFailed) {
		unresolved(tx, *ref, err.Error())
		return []string{}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := ref.nextVersion(tx); err != nil {
		return nil, err
	}
	ref.Snapshot, ref.TargetResolved = snapshot.ID, true
	return snapshot.Paths(), publish(tx, *ref, snapshot.Entries)
}

func unresolved(tx *storage.Tx, ref Reference, reason string) {
	tx.Warn(errcodes.TargetUnresolved.Warn("target", ref.Target, "reason", reason, "refId", ref.ID))
}

// nextVersion counts on, past what an undone operation may have left. What
// is no real directory where copies are to be is T503.
func (ref *Reference) nextVersion(tx *storage.Tx) error {
	for {
		ref.SnapshotVersion++
		root, err := objects.OpenTree(tx.Dir(), ref.copies())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		root.Close()
	}
}

// copies returns where the copies of the present version are.
func (ref Reference) copies() string { return ref.folder() + "/" + strconv.Itoa(ref.SnapshotVersion) }

func publish(tx *storage.Tx, ref Reference, entries []objects.Entry) error {
	for _, entry := range entries {
		if err := tx.Publish(ref.copyOf(entry, "")); err != nil {
			return err
		}
	}
	return nil
}

// copyOf puts an entry of the snapshot in its place: read-only, still
// executable where it was.
func (ref Reference) copyOf(entry objects.Entry, before string) storage.File {
	mode := entry.Mode
	if mode.IsRegular() {
		mode = 0o444 | mode&0o111
	}
	return storage.File{
		Path: ref.copies() + "/" + entry.Path, From: objects.Path(entry.SHA256),
		Before: before, After: entry.SHA256, Mode: mode,
	}
}

// Refresh gives a frozen reference a new snapshot of its target, as the next
// version; the old one stays. Where the target cannot be resolved it warns
// (W202) and writes nothing. It fails with T203, with T101 or T102 where the
// referring thread is gone or archived, with T503, and with T903 for a live
// reference.
func Refresh(tx *storage.Tx, refID string) (Added, error) {
	ref, err := Find(tx, refID)
	if err != nil {
		return Added{}, err
	}
	if ref.Binding == Live {
		return Added{}, usage("the reference '" + refID + "' is live: it always shows its target as it is, and has nothing to refresh")
	}
	if err := writable(tx, ref.From, "reference refresh"); err != nil {
		return Added{}, err
	}
	version := ref.SnapshotVersion
	copied, err := resolve(tx, &ref)
	if err != nil || ref.SnapshotVersion == version {
		return Added{Reference: ref, Copied: []string{}}, err
	}
	ref, err = save(tx, ref)
	return Added{Reference: ref, Copied: copied}, err
}

// Remove deletes a reference, also one of an archived thread. Its copies
// stay, as history. It fails with T203.
func Remove(tx *storage.Tx, refID string) (Reference, error) {
	ref, err := Find(tx, refID)
	if err != nil {
		return Reference{}, err
	}
	for _, key := range []string{key(refID), fromKey(ref.From, refID), targetKey(ref.Target, refID)} {
		if err := tx.Delete(key); err != nil {
			return Reference{}, err
		}
	}
	return ref, nil
}
