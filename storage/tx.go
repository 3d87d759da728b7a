package storage

import (
	"fmt"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
)

// Tx is one update in the making. It sees its own changes.
type Tx struct {
	*state
	store    *Store
	op       Operation
	id       string
	now      time.Time
	written  []string // keys, in the order in which they were first written
	deleted  []string
	files    []File
	dirs     []string
	warnings errcodes.Warnings
	before   map[string]body // of an update with a checkpoint: what it changed, as it was
	forced   bool            // it is logged even when it changes no record
	renamed  bool            // the state file was replaced, under a name that is not yet durable
	logged   bool            // its line is in the log, or may be: what is staged is needed until it is in place
}

func newTx(s *Store, st *state, op Operation) *Tx {
	return &Tx{state: st, store: s, op: op, id: operationPrefix + s.options.NewID(), now: s.options.Now().UTC().Truncate(time.Millisecond)}
}

// Dir is the directory of the store.
func (tx *Tx) Dir() *os.Root { return tx.store.disk.Root }

// Disk is the directory of the store, to write files that the update needs.
func (tx *Tx) Disk() *Disk { return tx.store.disk }

// Now is the one time of the operation, in UTC, in milliseconds.
func (tx *Tx) Now() time.Time { return tx.now }

// OperationID is the id under which the update will be in the log.
func (tx *Tx) OperationID() string { return tx.id }

// NewID returns prefix and a random, lower-case part that cannot clash in practice.
func (tx *Tx) NewID(prefix string) string { return prefix + tx.store.options.NewID() }

// DryRun reports whether nothing of the update will be written.
func (tx *Tx) DryRun() bool { return tx.store.options.DryRun }

// Warn adds warnings to those that Update returns, also when it fails.
func (tx *Tx) Warn(more ...errcodes.Warning) { tx.warnings.Add(more...) }

// Put writes value, a struct or a map, under key, and returns the record with
// its new revision. Members of the old record that value's type does not know
// are kept.
func (tx *Tx) Put(key string, value any) (Record, error) {
	if !validKey(key) {
		return Record{}, fmt.Errorf("key %q cannot be stored", key)
	}
	text, err := encode(value)
	if err != nil {
		return Record{}, fmt.Errorf("encoding %s: %w", key, err)
	}
	old, found, err := tx.Get(key)
	if err != nil {
		return Record{}, err
	}
	if found {
		text = keepUnknown(text, old.Value, reflect.TypeOf(value))
	}
	if max(old.Revision, tx.seq) >= largestNumber {
		return Record{}, numbersEnd(statePath)
	}
	revision := old.Revision
	if again := found && old.Seq == tx.seq+1; !again {
		revision++
		tx.written = append(tx.written, key)
	}
	full := newBody(text, revision, tx.seq+1)
	if err := tx.set(key, full); err != nil {
		return Record{}, err
	}
	return slices.Clone(full).record(key)
}

// Delete removes the record under key; there may be none.
func (tx *Tx) Delete(key string) error {
	_, found, err := tx.Get(key)
	if err != nil || !found {
		return err
	}
	tx.written = slices.DeleteFunc(tx.written, func(have string) bool { return have == key })
	tx.deleted = append(tx.deleted, key)
	return tx.set(key, nil)
}

// set changes the overlay and keeps its order.
func (tx *Tx) set(key string, text body) error {
	if _, kept := tx.before[key]; tx.checkpoint && !kept {
		old, err := tx.text(key)
		if err != nil {
			return err
		}
		if tx.before == nil {
			tx.before = map[string]body{}
		}
		tx.before[key] = old
	}
	if _, known := tx.overlay[key]; !known && tx.order != nil {
		at, _ := slices.BinarySearch(tx.order, key)
		tx.order = slices.Insert(tx.order, at, key)
	}
	tx.overlay[key] = text
	return nil
}

// keepUnknown appends to text the members of old that its type has no field for.
func keepUnknown(text, old []byte, kind reflect.Type) []byte {
	known := memberNames(kind)
	if known == nil {
		return text
	}
	var more []byte
	gjson.ParseBytes(old).ForEach(func(key, value gjson.Result) bool {
		if !slices.Contains(known, key.Str) {
			more = appendMember(more, key.Raw, value.Raw)
		}
		return true
	})
	if len(more) == 0 {
		return text
	}
	if len(text) == len("{}") {
		more = more[1:]
	}
	return append(append(slices.Clone(text[:len(text)-1]), more...), '}')
}

// memberNames lists the JSON names of a struct's fields; nil for what is no struct.
func memberNames(kind reflect.Type) []string {
	for kind != nil && kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if kind == nil || kind.Kind() != reflect.Struct {
		return nil
	}
	names := []string{}
	for _, field := range reflect.VisibleFields(kind) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		names = append(names, name)
	}
	return names
}

// Publish changes one file with the commit. The bytes are staged, durably,
// now; the file takes its place right after the commit, or, when the process
// dies between, before the next update. Codes: T503, T506.
func (tx *Tx) Publish(file File) error {
	if err := file.allowed(); err != nil {
		return err
	}
	if !tx.DryRun() && file.From != "" {
		if err := tx.store.stage(tx.id, len(tx.files), file); err != nil {
			return err
		}
	}
	tx.files = append(tx.files, file)
	return nil
}

// MakeDir makes a directory, and those above it, right after the commit. It
// is empty, so whoever misses it after a crash can make it again.
func (tx *Tx) MakeDir(dir string) error {
	if path.Clean(dir) != dir || !filepathIsLocal(dir) {
		return fmt.Errorf("directory %q lies outside the store", dir)
	}
	tx.dirs = append(tx.dirs, dir)
	return nil
}

func (tx *Tx) allWarnings() errcodes.Warnings {
	all := slices.Clone(tx.warnings)
	all.Add(tx.state.warnings...)
	return all
}

// changed reports whether there is anything to commit.
func (tx *Tx) changed() bool { return tx.forced || len(tx.written)+len(tx.deleted)+len(tx.files) > 0 }

// close releases what the update holds, and what it staged in vain.
func (tx *Tx) close() {
	if len(tx.files) > 0 && !tx.DryRun() && !tx.logged {
		_ = tx.store.disk.RemoveAll(stagingPath + "/" + tx.id) // else the next update does
	}
	tx.state.close()
}

// entry is what the log will say of the update.
func (tx *Tx) entry() *entry {
	e := &entry{Seq: tx.seq + 1, ID: tx.id, Time: tx.now, Operation: tx.op.Name, Operator: tx.op.Operator, Actor: tx.op.Actor,
		Reason: tx.op.Reason, Deleted: tx.deleted, Files: tx.files}
	for _, key := range tx.written {
		e.Put = append(e.Put, line{key, tx.overlay[key]})
	}
	for _, record := range tx.adopted {
		if !slices.Contains(tx.written, record.key) && tx.overlay[record.key] != nil {
			e.Put = append(e.Put, record)
		}
	}
	return e
}
