package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

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
	faults []rowFault // the first few
}

// rowFault is a refused row and its line.
type rowFault struct {
	line  int
	fault *rows.Fault
}

// shownFaults is how many bad rows are told of before the run; all of them are in the errors file after it.
const shownFaults = 3

// inspect reads a file once: what it holds, and whether it can be read at all. It streams.
func inspect(path string, rules *rows.Rules) (input, error) {
	in := input{path: path}
	file, err := openRows(path)
	if err != nil {
		return in, err
	}
	defer file.Close()
	sum := sha256.New()
	err = eachRow(io.TeeReader(file, sum), rules, func(line int, _ rows.Row, fault *rows.Fault) {
		in.rows++
		if fault == nil {
			in.valid++
		} else if len(in.faults) < shownFaults {
			in.faults = append(in.faults, rowFault{line: line, fault: fault})
		}
	})
	if err != nil {
		return in, fmt.Errorf("read %s: %w", path, err)
	}
	in.digest = hex.EncodeToString(sum.Sum(nil))
	return in, nil
}

// openRows opens a file of rows; a directory is told from a file here, since reading one says something else on each system.
func openRows(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open rows: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a directory: name the files in it")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open rows %s: %w", path, err), file.Close())
	}
	return file, nil
}

// eachRow judges every row of r and reads r to its end. A line too long for any message ends it.
func eachRow(r io.Reader, rules *rows.Rules, each func(line int, row rows.Row, fault *rows.Fault)) error {
	var parser rows.Parser
	reader := rows.NewReader(bufio.NewReaderSize(r, 1<<20), client.MaxLineBytes)
	for {
		line, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		row, fault := parser.Parse(line.Bytes, rules)
		each(line.Number, row, fault)
	}
}

// rulesOf are the rules that a job's rows will be judged by.
func rulesOf(p *events.Policy) *rows.Rules {
	return &rows.Rules{DefaultModel: p.DefaultModel, Model: p.Model, URLs: p.URLs, MaxRowBytes: p.MaxRowBytes}
}
