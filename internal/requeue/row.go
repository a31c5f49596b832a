package requeue

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/batchbus/batchbus/internal/refused"
	"github.com/batchbus/batchbus/internal/rowfile"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/rows"
)

// Row is one row to be published again. Its bytes live until the next step.
type Row struct {
	Line   []byte
	Number int         // the line that faults name
	From   string      // where people find it: the refused entry's subject, or a file
	Source string      // of the refused row that it was or corrects; empty: of none
	Lost   string      // why there is no row
	Fault  *rows.Fault // why it cannot be changed as it should be; nil for most
}

// Rows yields the same rows each time it is asked, up to what has changed on the bus since.
type Rows func(ctx context.Context) iter.Seq2[Row, error]

// Refused are the refused rows that f takes, as they were received. A refused message of many rows is as many.
func Refused(reader *refused.Reader, f refused.Filter) Rows {
	return func(ctx context.Context) iter.Seq2[Row, error] {
		return func(yield func(Row, error) bool) {
			for e, err := range reader.WithPayloads(ctx, f) {
				if err != nil {
					yield(Row{}, err)
					return
				}
				if !rowsOf(&e, yield) {
					return
				}
			}
		}
	}
}

func rowsOf(e *refused.Entry, yield func(Row, error) bool) (more bool) {
	row := Row{From: e.Entry, Source: e.Source, Number: e.Line, Lost: e.Lost}
	if row.From == "" {
		row.From = "row of input " + e.Source
	}
	found := row.Lost != ""
	lines, _ := rows.Payload(e.Payload)
	for line := range lines {
		found = true
		row.Line, row.Number = line.Bytes, max(e.Line, 1)-1+line.Number
		if !yield(row, nil) {
			return false
		}
	}
	switch {
	case !found:
		row.Lost = "the refused message held none"
		return yield(row, nil)
	case row.Lost != "":
		return yield(row, nil)
	}
	return true
}

// File are the rows of a file of corrected ones, each with the source of the refused row that has its custom_id, if there is one.
func File(path string, sources map[[16]byte][16]byte) Rows {
	return func(ctx context.Context) iter.Seq2[Row, error] {
		return func(yield func(Row, error) bool) {
			file, err := rowfile.Open(path)
			if err != nil {
				yield(Row{}, fmt.Errorf("open corrected rows: %w", err))
				return
			}
			defer func() { _ = file.Close() }() // it was only read
			f := corrected{reader: rows.NewReader(file, client.MaxLineBytes), path: path, sources: sources}
			for ctx.Err() == nil {
				row, err := f.next()
				if errors.Is(err, io.EOF) {
					return
				}
				if !yield(row, err) || err != nil {
					return
				}
			}
			yield(Row{}, ctx.Err())
		}
	}
}

// corrected reads a file of corrected rows.
type corrected struct {
	reader  *rows.Reader
	parser  rows.Parser
	path    string
	sources map[[16]byte][16]byte // by custom_id
}

func (f *corrected) next() (Row, error) {
	line, err := f.reader.Next()
	if err != nil {
		return Row{}, fmt.Errorf("read corrected rows: %w", err)
	}
	row := Row{Line: line.Bytes, Number: line.Number, From: f.path}
	if source, known := f.sources[rows.HashID(idOf(&f.parser, line.Bytes))]; known {
		row.Source = hex.EncodeToString(source[:])
	}
	return row, nil
}

// idOf is the row's custom_id, whatever else is wrong with it; empty when it has none.
func idOf(parser *rows.Parser, line []byte) string {
	row, fault := parser.Parse(line, nil)
	if fault != nil {
		return fault.CustomID
	}
	return row.CustomID
}

// Sources are the sources of the refused rows that f takes, by custom_id: what corrected rows are matched with.
func Sources(ctx context.Context, reader *refused.Reader, f refused.Filter) (map[[16]byte][16]byte, error) {
	sources := make(map[[16]byte][16]byte)
	for e, err := range reader.Entries(ctx, f) {
		if err != nil {
			return nil, err
		}
		raw, err := hex.DecodeString(e.Source)
		if e.CustomID != "" && err == nil && len(raw) == 16 {
			sources[rows.HashID(e.CustomID)] = [16]byte(raw)
		}
	}
	return sources, nil
}
