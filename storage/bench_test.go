package storage

import (
	"fmt"
	"testing"
)

// fill makes a store of so many records of the size that threads have.
func fill(b *testing.B, records int) *Store {
	b.Helper()
	s := newStore(b)
	_, _, err := s.Update(ctx, Operation{Name: "fill"}, func(tx *Tx) error {
		for n := range records {
			value := map[string]any{"id": fmt.Sprintf("thread-%08d", n), "kind": "work", "title": "a title of the usual length", "intent": "an intent of the usual length, a sentence or two",
				"objectiveId": "obj-default", "status": "active", "executor": "agent", "tags": []string{}, "createdAt": "2026-02-09T16:00:00.000Z", "updatedAt": "2026-02-09T16:00:00.000Z"}
			if _, err := tx.Put(fmt.Sprintf("thread/thread-%08d", n), value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

var sizes = []int{100, 10_000, 100_000}

func BenchmarkGet(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := fill(b, size)
			for b.Loop() {
				_, err := s.View(ctx, func(v *View) error {
					_, found, err := v.Get(fmt.Sprintf("thread/thread-%08d", size/3))
					if !found {
						b.Fatal("not found")
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPut(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := fill(b, size)
			n := 0
			for b.Loop() {
				put(b, s, fmt.Sprintf("thread/thread-%08d", n%size), item{Name: "changed"})
				n++
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := fill(b, size)
			for b.Loop() {
				_, err := s.View(ctx, func(v *View) error {
					count := 0
					for _, err := range v.Scan("thread/") {
						if err != nil {
							return err
						}
						count++
					}
					if count != size {
						b.Fatal(count)
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
