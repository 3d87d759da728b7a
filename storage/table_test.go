package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLargeTable looks up and lists more records than a reader keeps blocks
// for: each is found, and the keys that a list gave stay what they were.
func TestLargeTable(t *testing.T) {
	const records = 12_000
	s := newStore(t)
	key := func(n int) string { return fmt.Sprintf("item/%05d", n) }
	_, _, err := s.Update(ctx, Operation{Name: "fill"}, func(tx *Tx) error {
		for n := range records {
			if _, err := tx.Put(key(n), item{Name: key(n) + strings.Repeat("x", 100)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.View(ctx, func(v *View) error {
		if v.table.header.Bytes < 2*keptBlocks*block*3/4 {
			t.Fatalf("the state has only %d bytes", v.table.header.Bytes)
		}
		for i := range records {
			want := key(i * 7919 % records)
			record, found, err := v.Get(want)
			if err != nil || !found || !strings.Contains(string(record.Value), want) {
				return fmt.Errorf("%s: found %t, %s: %w", want, found, record.Value, err)
			}
		}
		var keys []string
		for record, err := range v.Scan("item/") {
			if err != nil {
				return err
			}
			keys = append(keys, record.Key)
		}
		if len(keys) != records || !slices.IsSorted(keys) || keys[records/2] != key(records/2) || keys[0] != key(0) {
			t.Errorf("%d keys, from %s to %s", len(keys), keys[0], keys[len(keys)-1])
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
