package doctor

import (
	"context"
	"fmt"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

// Repaired says what a repair did.
type Repaired struct {
	Files       bool     // whether state, backup and log were made whole
	Records     []string // what was mended, by check and subject: "children thread-a"; never nil
	OperationID string   // of the last operation of the repair, "" when there was none
}

// Repair mends what report names: the files of the store first, when one of
// them has a problem, then the records, all in one update. It deletes nothing
// that is not proven redundant. The codes are those of the store's Update.
func Repair(ctx context.Context, store *storage.Store, op storage.Operation, report Report, sources ...Source) (Repaired, errcodes.Warnings, error) {
	done := Repaired{Records: []string{}}
	files, records := report.damage()
	var warnings errcodes.Warnings
	if files {
		commit, warned, err := store.Repair(ctx, op)
		warnings.Add(warned...)
		if err != nil {
			return done, warnings, fmt.Errorf("repairing the files of the store: %w", err)
		}
		done.Files, done.OperationID = true, commit.OperationID
	}
	if !files && !records {
		return done, warnings, nil
	}
	commit, warned, err := store.Update(ctx, op, func(tx *storage.Tx) (err error) {
		done.Records, err = mend(tx, examine(tx, sources).Problems)
		return err
	})
	warnings.Add(warned...)
	if commit.OperationID != "" {
		done.OperationID = commit.OperationID
	}
	return done, warnings, err
}

// damage says whether r names files that the store can mend, and records
// that a room can.
func (r Report) damage() (files, records bool) {
	for _, p := range r.Problems {
		files = files || p.mend == nil && p.Repair == byCommand
		records = records || p.mend != nil
	}
	return files, records
}

func mend(tx *storage.Tx, problems []Finding) ([]string, error) {
	mended := []string{}
	for _, p := range problems {
		if p.mend == nil {
			continue
		}
		if err := p.mend(tx); err != nil {
			return nil, fmt.Errorf("repairing %s %s: %w", p.Check, p.Subject, err)
		}
		mended = append(mended, p.Check+" "+p.Subject)
	}
	return mended, nil
}
