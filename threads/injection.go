package threads

import (
	"cmp"
	"slices"
	"time"

	"github.com/leslie-sh/leslie/storage"
)

// Injection is something said to a thread while it works; its next context
// has it.
type Injection struct {
	ID       string    `json:"id"`
	ThreadID string    `json:"threadId"`
	Type     string    `json:"type"` // one of InjectionTypes
	Content  string    `json:"content"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at"`
	Order    int       `json:"order"` // its place among those of its thread, from 1
}

// InjectionTypes returns what an injection can be.
func InjectionTypes() []string { return []string{"constraint", "info", "correction"} }

func injectionKey(threadID, id string) string { return "injection/" + threadID + "/" + id }

// Inject records i for its thread, in every state but archived (T102); ID, At
// and Order are given here. It fails with T101 and T903 too.
func Inject(tx *storage.Tx, i Injection) (Injection, Thread, error) {
	if err := oneOf("type of injection", i.Type, InjectionTypes()); err != nil {
		return Injection{}, Thread{}, err
	}
	if err := checkWords("the content", i.Content, longestText, lineCharacters); err != nil {
		return Injection{}, Thread{}, err
	}
	t, err := Find(tx, i.ThreadID)
	if err != nil {
		return Injection{}, Thread{}, err
	}
	if err := writable(t, "inject"); err != nil {
		return Injection{}, Thread{}, err
	}
	before, err := Injections(tx, t.ID)
	if err != nil {
		return Injection{}, Thread{}, err
	}
	if i.ID, err = newID(tx, "inj-", func(id string) string { return injectionKey(t.ID, id) }); err != nil {
		return Injection{}, Thread{}, err
	}
	i.At, i.Order = tx.Now(), 1
	if len(before) > 0 {
		i.Order = before[len(before)-1].Order + 1
	}
	if _, err := tx.Put(injectionKey(t.ID, i.ID), i); err != nil {
		return Injection{}, Thread{}, err
	}
	t, err = touch(tx, t)
	return i, t, err
}

// Injections returns what was injected into a thread, in that order.
func Injections(r storage.Reader, threadID string) ([]Injection, error) {
	list := []Injection{}
	for record, err := range r.Scan(injectionKey(threadID, "")) {
		if err != nil {
			return nil, err
		}
		var i Injection
		if err := record.Decode(&i); err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b Injection) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}
