package command

import (
	"github.com/leslie-sh/leslie/pkg/doctor"
	"github.com/leslie-sh/leslie/refs"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/storage/objects"
	"github.com/leslie-sh/leslie/threads"
)

var doctorCommand = &command{
	name:    "doctor",
	summary: "examine the store, and mend it with --repair",
	flags:   []flagSpec{{name: "repair", kind: boolean, summary: "mend what can be mended without a loss"}},
	writes:  true,
	data:    doctorData{},
	run:     runDoctor,
}

type doctorData struct {
	doctor.Report
	Healthy  bool      `json:"healthy"`
	Count    int       `json:"count"`
	Repaired *repaired `json:"repaired,omitempty"`
	written
}

type repaired struct {
	Files   bool     `json:"files"`
	Records []string `json:"records"`
}

var examined = []doctor.Source{threads.Check, refs.Check, objects.Check}

func runDoctor(c *call) (any, error) {
	report, err := examineStore(c)
	if err != nil {
		return nil, err
	}
	data := doctorData{}
	data.DryRun = c.dryRun
	if c.on("repair") && !c.dryRun {
		if data, err = repairStore(c, report); err != nil {
			return nil, err
		}
		if report, err = examineStore(c); err != nil {
			return nil, err
		}
	}
	data.Report, data.Count, data.Healthy = report, len(report.Problems), len(report.Problems) == 0
	return data, nil
}

func examineStore(c *call) (doctor.Report, error) {
	if err := c.open(); err != nil {
		return doctor.Report{}, err
	}
	report, warnings, err := doctor.Run(c.ctx, c.store, examined...)
	c.warnings.Add(warnings...)
	return report, err
}

func repairStore(c *call, report doctor.Report) (doctorData, error) {
	op := storage.Operation{Name: "doctor", Operator: operatorOf(c.operator, c.stdin), Actor: callerOf(c.as, c.env)}
	done, warnings, err := doctor.Repair(c.ctx, c.store, op, report, examined...)
	c.warnings.Add(warnings...)
	return doctorData{
		Repaired: &repaired{Files: done.Files, Records: done.Records},
		written:  written{OperationID: done.OperationID},
	}, err
}
