package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

type validateCommand struct {
	Files []string `arg:"" name:"file" help:"JSONL files of rows."`
	Model string   `help:"Model for rows that name none."`
	JSON  bool     `name:"json" help:"Print one JSON object a finding, and one for the whole, on stdout."`
}

type rowRules = rows.Rules

// run reports every bad or doubled row and every warning. A custom_id is doubled across all files: they would be one job.
func (v *validateCommand) run(_ context.Context, env app.Env) (int, error) {
	policy := events.DefaultPolicy()
	policy.DefaultModel = v.Model
	check := checker{rules: rulesOf(&policy), seen: make(map[[16]byte]firstRow), groups: make(map[string]bool), report: newReporter(env, v.JSON)}
	var faults []error
	for _, path := range v.Files {
		if err := check.file(path); err != nil {
			faults = append(faults, err)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return app.ExitFault, err
	}
	if check.rows == 0 {
		return app.ExitFault, fmt.Errorf("%s: no rows: the input is empty", v.Files[0])
	}
	check.report.total(check.rows, check.bad, check.warnings)
	if check.bad > 0 {
		return app.ExitFault, nil
	}
	return app.ExitOK, nil
}

// checker goes through files and remembers every custom_id's first row: 48 bytes and the map's share each.
type checker struct {
	rules    *rows.Rules
	seen     map[[16]byte]firstRow
	report   reporter
	groups   map[string]bool
	broken   bool // the row before was a piece of an object over several lines
	rows     int
	bad      int
	warnings int
}

// group refuses the rows of a 65th kind, as the planner will.
func (c *checker) group(path string, line int, row rows.Row) {
	kind := row.URL + " " + row.Model
	if !c.groups[kind] && len(c.groups) == events.MaxGroups {
		c.bad++
		c.report.finding(finding{
			File: path, Line: line, Code: events.CodeTooManyGroups,
			Message: fmt.Sprintf("a job takes %d different pairs of url and model, and this row is of another", events.MaxGroups),
			Hint:    "put the other models into a job of their own",
		})
		return
	}
	c.groups[kind] = true
}

type firstRow struct {
	path string
	line int
}

func (c *checker) file(path string) error {
	file, err := openRows(path)
	if err != nil {
		return err
	}
	defer file.Close()
	c.broken = false
	bom, err := eachRow(file, c.rules, func(line int, row rows.Row, fault *rows.Fault) { c.row(path, line, row, fault) })
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if bom {
		c.warnings++
		c.report.finding(finding{File: path, Line: 1, Code: "bom", Message: "the file begins with a byte order mark, which is left out", Warning: true})
	}
	return nil
}

func (c *checker) row(path string, line int, row rows.Row, fault *rows.Fault) {
	c.rows++
	id, known := row.CustomID, true
	if fault != nil {
		id, known = fault.CustomID, fault.HasCustomID
	}
	pieces := c.broken // of an object over several lines, which is told of once
	c.broken = fault != nil && fault.Code == rows.CodeMultilineObject
	if fault == nil {
		c.group(path, line, row)
	} else if c.bad++; !pieces || !c.broken {
		c.report.finding(finding{File: path, Line: line, Column: fault.Column, Code: fault.Code, Message: fault.Message, Hint: fault.Hint})
	}
	for _, w := range row.Warnings {
		c.warnings++
		c.report.finding(finding{File: path, Line: line, Column: w.Column, Code: w.Code, Message: w.Message, Warning: true})
	}
	if !known {
		return
	}
	hash := rows.HashID(id)
	if first, doubled := c.seen[hash]; doubled {
		if fault == nil {
			c.bad++
		}
		c.report.finding(finding{
			File: path, Line: line, Code: events.DLDuplicate,
			Message: fmt.Sprintf("custom_id %q was used before, at %s:%d", id, first.path, first.line),
			Hint:    "give every row of a job its own custom_id",
		})
		return
	}
	c.seen[hash] = firstRow{path: path, line: line}
}
