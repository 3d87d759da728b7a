// Package doctor examines a store: it asks everyone who knows an invariant
// whether it holds, says what does not, and has it mended where that can be
// done without a loss.
package doctor

import (
	"context"
	"errors"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

// Source examines the records and files of one room, whose invariants it knows.
type Source func(storage.Reader) ([]storage.Check, error)

// Status says how a check ended.
type Status string

// The ways in which a check can end.
const (
	OK      Status = "ok"
	Note    Status = "note" // as it should be, and worth knowing
	Problem Status = "problem"
)

// Check is the outcome of one check.
type Check struct {
	Name     string `json:"name"`
	Status   Status `json:"status"`
	Count    int    `json:"count"` // how many things were examined, where the check counts them
	Problems int    `json:"problems"`
	Message  string `json:"message,omitempty"`
}

// Finding is one broken promise. Repair says what mends it.
type Finding struct {
	Check   string `json:"check"`
	Subject string `json:"subject"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Repair  string `json:"repair"`

	mend func(*storage.Tx) error
}

// Report is everything that an examination found. Its lists are never nil.
type Report struct {
	Checks   []Check   `json:"checks"`
	Problems []Finding `json:"problems"`
}

// The two ways to a repair.
const (
	byCommand = "leslie doctor --repair"
	byPerson  = "no repair without loss is known; a person has to decide"
)

// Run examines the files of store itself and, through one view of it, the
// invariants of every source. It changes nothing. What makes a part of the
// store unreadable is a problem in the report; the error is that of a store
// which cannot be examined at all: T503, T504, T505, T506.
func Run(ctx context.Context, store *storage.Store, sources ...Source) (Report, errcodes.Warnings, error) {
	report := Report{Checks: []Check{}, Problems: []Finding{}}
	own, err := store.Check()
	if err != nil {
		return report, nil, err
	}
	for _, check := range own {
		report.addOwn(check)
	}
	var rooms Report
	warnings, err := store.View(ctx, func(v *storage.View) error {
		rooms = examine(v, sources)
		return nil
	})
	if errors.Is(err, errcodes.StoreCorrupted) {
		rooms = Report{}
		rooms.addOwn(unfinished(err))
	} else if err != nil {
		return report, warnings, err
	}
	report.Checks = append(report.Checks, rooms.Checks...)
	report.Problems = append(report.Problems, rooms.Problems...)
	return report, warnings, nil
}

// addOwn takes up what the storage says of its own files, which it mends itself.
func (r *Report) addOwn(check storage.Check) {
	r.add(check)
	for i := range check.Findings {
		r.Problems[len(r.Problems)-1-i].Repair = byCommand
	}
}

func (r *Report) add(check storage.Check) {
	status := OK
	if len(check.Notes) > 0 {
		status = Note
	}
	if len(check.Findings) > 0 {
		status = Problem
	}
	r.Checks = append(r.Checks, Check{
		Name: check.Name, Status: status, Count: check.Count,
		Problems: len(check.Findings), Message: strings.Join(check.Notes, "; "),
	})
	for _, f := range check.Findings {
		repair := byPerson
		if f.Repair != nil {
			repair = byCommand
		}
		r.Problems = append(r.Problems, Finding{
			Check: check.Name, Subject: f.Subject, Code: string(f.Code), Message: f.Message, Repair: repair, mend: f.Repair,
		})
	}
}

// examine asks every source. One that cannot finish does not keep the others
// from being asked.
func examine(r storage.Reader, sources []Source) Report {
	var report Report
	for _, source := range sources {
		checks, err := source(r)
		if err != nil {
			checks = append(checks, unfinished(err))
		}
		for _, check := range checks {
			report.add(check)
		}
	}
	return report
}

// unfinished is the check of records that could not be read to the end.
func unfinished(err error) storage.Check {
	coded := errcodes.Of(err)
	return storage.Check{Name: "records", Findings: []storage.Finding{{Subject: "store", Code: coded.Code, Message: coded.Error()}}}
}
