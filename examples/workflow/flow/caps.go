package flow

import (
	"errors"
	"fmt"
)

// Caps are the hard limits of a workflow.
type Caps struct {
	Stages      int   // jobs, one behind the other
	Rows        int   // of the input; more of them start nothing
	CallsPerRow int   // tool calls of one row, in all stages
	Calls       int   // tool calls of all rows
	ResultBytes int   // of one tool call; see package tools
	RowBytes    int   // of a row, with its whole conversation
	Bytes       int64 // of all rows of all stages; an input that has more starts nothing
}

// DefaultCaps are those of the command line.
func DefaultCaps() Caps {
	return Caps{Stages: 4, Rows: 1000, CallsPerRow: 8, Calls: 2000, ResultBytes: 16 << 10, RowBytes: 256 << 10, Bytes: 64 << 20}
}

// maxReceiptResults keeps a receipt, in which a byte of a result can take six, within a message of the bus, 1 MiB.
const maxReceiptResults = 128 << 10

// Check reports caps that cannot work, all of them.
func (c Caps) Check() error {
	var faults []error
	for name, value := range map[string]int64{
		"stages": int64(c.Stages), "rows": int64(c.Rows), "calls per row": int64(c.CallsPerRow), "calls": int64(c.Calls),
		"result bytes": int64(c.ResultBytes), "row bytes": int64(c.RowBytes), "bytes": c.Bytes,
	} {
		if value < 1 {
			faults = append(faults, fmt.Errorf("cap of %s: %d is less than 1", name, value))
		}
	}
	if c.CallsPerRow > 0 && c.ResultBytes > maxReceiptResults/c.CallsPerRow {
		faults = append(faults, fmt.Errorf("caps of calls per row and result bytes: together more than %d bytes do not fit into a receipt", maxReceiptResults))
	}
	return errors.Join(faults...)
}

// used is what a workflow has used of its caps so far.
type used struct {
	calls int
	bytes int64
}

// beforeCalls tells which cap ends a row that wants so many calls more, if any: none of them is run then.
func (c Caps) beforeCalls(u used, stage, ofRow, wanted int) string {
	switch {
	case stage >= c.Stages:
		return fmt.Sprintf("stages: it still wants tools after %d", c.Stages)
	case ofRow+wanted > c.CallsPerRow:
		return fmt.Sprintf("calls of a row: it wants %d more after %d, of %d", wanted, ofRow, c.CallsPerRow)
	case u.calls+wanted > c.Calls:
		return fmt.Sprintf("calls of all rows: it wants %d more after %d, of %d", wanted, u.calls, c.Calls)
	}
	return ""
}

// beforeRow tells which cap ends a row that would go on with so many bytes.
func (c Caps) beforeRow(u used, bytes int) string {
	switch {
	case bytes > c.RowBytes:
		return fmt.Sprintf("bytes of a row: its next one has %d, of %d", bytes, c.RowBytes)
	case u.bytes+int64(bytes) > c.Bytes:
		return fmt.Sprintf("bytes of all rows: its next one has %d after %d, of %d", bytes, u.bytes, c.Bytes)
	}
	return ""
}
