package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// input is one file of rows, looked at before anything is published.
type input struct {
	path   string
	digest string // hex SHA-256 of its bytes
	rows   int    // lines that are not blank
	valid  int
	bom    bool       // it begins with a byte order mark
	faults []rowFault // the first few
}

// rowFault is a refused row and its line.
type rowFault struct {
	line  int
	fault *rows.Fault
}

// shownFaults is how many bad rows are told of before the run; all of them are in the errors file after it.
const shownFaults = 3

// inspect reads a file once: what it holds, and whether it can be read at all. It streams. The digest is of what a compressed file holds.
func inspect(files *rowFiles, path string, rules *rows.Rules) (input, error) {
	in := input{path: path}
	file, err := files.open(path)
	if err != nil {
		return in, err
	}
	defer func() { _ = file.Close() }() // it was only read
	sum := sha256.New()
	in.bom, err = eachRow(io.TeeReader(file, sum), rules, func(line rows.Line, _ rows.Row, fault *rows.Fault) {
		in.rows++
		if fault == nil {
			in.valid++
		} else if len(in.faults) < shownFaults {
			in.faults = append(in.faults, rowFault{line: line.Number, fault: fault})
		}
	})
	if err != nil {
		return in, hinted(fmt.Errorf("read %s: %w", path, err))
	}
	in.digest = hex.EncodeToString(sum.Sum(nil))
	return in, nil
}

// eachRow judges every row of r and reads r to its end; it tells whether r began with a byte order mark, which is left out. A line too long
// for any message ends it.
func eachRow(r io.Reader, rules *rows.Rules, each func(line rows.Line, row rows.Row, fault *rows.Fault)) (bom bool, err error) {
	var parser rows.Parser
	reader := rows.NewReader(bufio.NewReaderSize(r, 1<<20), client.MaxLineBytes)
	for {
		line, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return reader.BOM(), nil
		case err != nil:
			return reader.BOM(), err
		}
		row, fault := parser.Parse(line.Bytes, rules)
		each(line, row, fault)
	}
}

// rulesOf are the rules that a job's rows will be judged by.
func rulesOf(p *events.Policy) *rows.Rules {
	rules, err := queues.Rules(p)
	if err != nil { // of a later version: batchbus on the bus decides
		return &rows.Rules{DefaultModel: p.DefaultModel, Model: p.Model, Models: p.Models, URLs: p.URLs, MaxRowBytes: p.MaxRowBytes}
	}
	return rules
}

func flagError(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// noValidRowError is returned when no row of a set can be sent.
type noValidRowError struct {
	text string
	// open says that the queue's policy may still make one valid: it can fill in a model, or allow more urls.
	open bool
}

// Error says which row was the first.
func (e *noValidRowError) Error() string { return e.text }

// openCodes are those of rows that a queue's policy may make valid: it fills in a model, allows more urls and models, and sets members.
func openCodes() []string {
	return []string{rows.CodeMissingModel, rows.CodeURLNotAllowed, rows.CodeModelNotAllowed, rows.CodeStreamTrue, rows.CodeNoPlace}
}

// inspectAll looks at every file, and refuses a set without a single valid row, which is a [*noValidRowError] beside the inputs.
func inspectAll(files *rowFiles, rules *rowRules) ([]input, error) {
	var inputs []input
	var faults []error
	total, valid := 0, 0
	for _, path := range files.paths {
		in, err := inspect(files, path, rules)
		inputs, faults = append(inputs, in), append(faults, err)
		total, valid = total+in.rows, valid+in.valid
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if total == 0 {
		return nil, fmt.Errorf("%s: no rows: the input is empty", files.paths[0])
	}
	if valid == 0 {
		return inputs, noValidRow(inputs, total)
	}
	return inputs, nil
}

func noValidRow(inputs []input, total int) *noValidRowError {
	none := &noValidRowError{}
	for _, in := range inputs {
		for _, f := range in.faults {
			if none.text == "" {
				none.text = fmt.Sprintf("no valid row among %d; nothing was published. The first: %s", total, describe(in.path, f))
			}
			none.open = none.open || slices.Contains(openCodes(), f.fault.Code)
		}
	}
	return none
}
