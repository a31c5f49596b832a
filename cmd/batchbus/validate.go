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
	Files []string `arg:"" name:"file" help:"JSONL files of rows, folders of them, patterns, or - for standard input."`
	Model string   `help:"Model for rows that name none."`
	JSON  bool     `name:"json" help:"Print one JSON object a finding, and one for the whole, on stdout."`
}

type rowRules = rows.Rules

// run reports every bad or doubled row and every warning. A custom_id is doubled across all files: they would be one job.
func (v *validateCommand) run(ctx context.Context, env app.Env) (int, error) {
	files, err := resolveFiles(ctx, env, v.Files)
	if err != nil {
		return app.ExitFault, err
	}
	policy := events.DefaultPolicy()
	policy.DefaultModel = v.Model
	check := checker{rules: rulesOf(&policy), seen: make(map[[16]byte]firstRow), groups: make(map[string]bool), report: newReporter(env, v.JSON)}
	var faults []error
	for _, path := range files.paths {
		if err := check.file(files, path); err != nil {
			faults = append(faults, err)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return ended(ctx, env, app.ExitFault, err, "Not all was read.")
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

// checker goes through files and remembers every custom_id's first row: 64 bytes and the map's share each.
type checker struct {
	rules    *rows.Rules
	seen     map[[16]byte]firstRow
	report   reporter
	groups   map[string]bool
	rows     int
	bad      int
	warnings int
}

// group refuses the rows of a 65th kind, as the planner will, and reports whether it took this one.
func (c *checker) group(path string, line int, row rows.Row) bool {
	kind := row.URL + " " + row.Model
	if !c.groups[kind] && len(c.groups) == events.MaxGroups {
		c.bad++
		c.report.finding(finding{
			File: path, Line: line, Code: events.CodeTooManyGroups,
			Message: fmt.Sprintf("a job takes %d different pairs of url and model, and this row is of another", events.MaxGroups),
			Hint:    "put the other models into a job of their own",
		})
		return false
	}
	c.groups[kind] = true
	return true
}

type firstRow struct {
	path string
	line int
	hash [16]byte
}

func (c *checker) file(files *rowFiles, path string) error {
	file, err := files.open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	bom, err := eachRow(file, c.rules, func(line rows.Line, row rows.Row, fault *rows.Fault) { c.row(path, line, row, fault) })
	if foreign, ok := errors.AsType[*rows.EncodingError](err); ok {
		c.rows++ // how many there are nobody can tell
		c.bad++
		c.report.finding(finding{
			File: path, Line: 1, Column: 1, Code: rows.CodeUTF16, Message: "the text is " + foreign.Encoding + ", not UTF-8", Hint: "save the file as UTF-8, or make it so by `batchbus prepare`",
		})
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if bom {
		c.warnings++
		c.report.finding(finding{File: path, Line: 1, Code: "bom", Message: "the file begins with a byte order mark, which is left out", Warning: true})
	}
	return nil
}

func (c *checker) row(path string, raw rows.Line, row rows.Row, fault *rows.Fault) {
	c.rows++
	line := raw.Number
	id, known := row.CustomID, true
	if fault != nil {
		id, known = fault.CustomID, fault.HasCustomID
	}
	good := fault == nil && c.group(path, line, row)
	if fault != nil {
		c.bad++
		c.report.finding(finding{File: path, Line: line, Column: fault.Column, Code: fault.Code, Message: fault.Message, Hint: fault.Hint})
	}
	for _, w := range row.Warnings {
		c.warnings++
		c.report.finding(finding{File: path, Line: line, Column: w.Column, Code: w.Code, Message: w.Message, Warning: true})
	}
	if !known {
		return
	}
	if fault, doubled := c.doubled(id, firstRow{path, line, rows.HashRow(raw.Bytes)}, good); doubled {
		c.report.finding(fault)
	}
}

// doubled judges a row by the first with its custom_id, as the planner will. A row that is bad anyway is counted once.
func (c *checker) doubled(id string, row firstRow, good bool) (finding, bool) {
	hash := rows.HashID(id)
	first, known := c.seen[hash]
	if !known {
		c.seen[hash] = row
		return finding{}, false
	}
	if good {
		c.bad++
	}
	code, what := events.DLConflict, "custom_id %q was used before by another row, at %s:%d"
	if row.hash == first.hash {
		code, what = events.DLDuplicate, "the same row, custom_id %q, came before, at %s:%d"
	}
	return finding{
		File: row.path, Line: row.line, Code: code, Message: fmt.Sprintf(what, id, first.path, first.line), Hint: "give every row of a job its own custom_id",
	}, true
}
