package doctor_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/pkg/doctor"
	"github.com/leslie-sh/leslie/storage"
)

// open makes a store with one record, item/a.
func open(t *testing.T) (*storage.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".leslie")
	if _, err := storage.Init(t.Context(), dir, storage.Options{}); err != nil {
		t.Fatal(err)
	}
	store, err := storage.Open(dir, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	_, _, err = store.Update(t.Context(), storage.Operation{Name: "test"}, func(tx *storage.Tx) error {
		_, err := tx.Put("item/a", map[string]string{"is": "wrong"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return store, dir
}

// items knows one invariant: there is no item.
func items(r storage.Reader) ([]storage.Check, error) {
	check := storage.Check{Name: "items"}
	for record, err := range r.Scan("item/") {
		if err != nil {
			return nil, err
		}
		key := record.Key
		check.Count++
		check.Findings = append(check.Findings, storage.Finding{
			Subject: key, Code: errcodes.StoreCorrupted, Message: "there is one",
			Repair: func(tx *storage.Tx) error { return tx.Delete(key) },
		})
	}
	return []storage.Check{check}, nil
}

func failing(storage.Reader) ([]storage.Check, error) {
	return nil, errcodes.ReadFailed.With("path", "x", "reason", "y")
}

func TestRunAndRepair(t *testing.T) {
	store, _ := open(t)
	report, _, err := doctor.Run(t.Context(), store, items, failing)
	if err != nil || len(report.Problems) != 2 {
		t.Fatalf("%v %+v", err, report.Problems)
	}
	first, second := report.Problems[0], report.Problems[1]
	if first.Check != "items" || first.Subject != "item/a" || first.Code != "T502" || first.Repair != "leslie doctor --repair" {
		t.Errorf("%+v", first)
	}
	if second.Code != "T506" || second.Repair == first.Repair {
		t.Errorf("%+v", second)
	}
	done, _, err := doctor.Repair(t.Context(), store, storage.Operation{Name: "doctor"}, report, items, failing)
	if err != nil || done.Files || !slices.Equal(done.Records, []string{"items item/a"}) || done.OperationID == "" {
		t.Fatalf("%+v %v", done, err)
	}
	if report, _, err = doctor.Run(t.Context(), store, items); err != nil || len(report.Problems) != 0 {
		t.Errorf("after the repair: %+v %v", report.Problems, err)
	}
	if done, _, err = doctor.Repair(t.Context(), store, storage.Operation{Name: "doctor"}, report, items); err != nil || done.OperationID != "" {
		t.Errorf("a sound store was repaired: %+v %v", done, err)
	}
}

func TestFailedRepairChangesNothing(t *testing.T) {
	store, _ := open(t)
	refusing := func(r storage.Reader) ([]storage.Check, error) {
		return []storage.Check{{Name: "no", Findings: []storage.Finding{{Subject: "x", Repair: func(*storage.Tx) error {
			return errcodes.WriteFailed.With("path", "x", "reason", "y")
		}}}}}, nil
	}
	report, _, err := doctor.Run(t.Context(), store, items, refusing)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := doctor.Repair(t.Context(), store, storage.Operation{Name: "doctor"}, report, items, refusing); !errors.Is(err, errcodes.WriteFailed) {
		t.Errorf("%v", err)
	}
	if report, _, err = doctor.Run(t.Context(), store, items); err != nil || len(report.Problems) != 1 {
		t.Errorf("half of the repair was kept: %+v %v", report.Problems, err)
	}
}

func TestDamagedFiles(t *testing.T) {
	store, dir := open(t)
	if err := os.WriteFile(filepath.Join(dir, "thread_relations.json"), []byte("garbage"), 0o644); err != nil {
		t.Fatal(err)
	}
	report, _, err := doctor.Run(t.Context(), store)
	if err != nil || len(report.Problems) == 0 || report.Problems[0].Repair != "leslie doctor --repair" {
		t.Fatalf("%v %+v", err, report)
	}
	done, _, err := doctor.Repair(t.Context(), store, storage.Operation{Name: "doctor"}, report)
	if err != nil || !done.Files {
		t.Fatalf("%+v %v", done, err)
	}
	if report, _, err = doctor.Run(t.Context(), store, items); err != nil || len(report.Problems) != 1 {
		t.Errorf("after the repair: %+v %v", report, err)
	}
}
