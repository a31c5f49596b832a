package flow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/batchbus/batchbus/examples/workflow/conversation"
	"github.com/batchbus/batchbus/examples/workflow/tools"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// Status says how a row ended. Only an answered row has an answer.
type Status string

// The statuses of a row.
const (
	Answered   Status = "answered"
	Truncated  Status = "truncated" // the model stopped for length: what it said is not shown
	Failed     Status = "failed"
	Expired    Status = "expired"
	Cancelled  Status = "cancelled"
	Rejected   Status = "rejected"   // refused before it was sent, by this program or by batchbus
	NoAnswer   Status = "no_answer"  // the model neither answered nor called a tool
	Capped     Status = "capped"     // a cap ended it
	Missing    Status = "missing"    // its stage is over and has no result for it
	Unfinished Status = "unfinished" // the program ended before it: run it again
)

// Thread is one row of the input on its way through the stages.
type Thread struct {
	ID     string   // its custom_id, the same in every stage
	Line   []byte   // the row of the stage that it is in
	Status Status   // empty: under way
	Why    string   // behind every status but answered
	Stage  int      // the last stage that it was in
	Calls  []Called // of tools, in all stages
	Answer []byte   // a JSON string, byte for byte
	Usage  events.Usage
}

// Called is a call of a tool that was run for a row.
type Called struct {
	Stage   int
	Tool    string
	Outcome tools.Outcome
}

func (t *Thread) end(status Status, why string) { t.Status, t.Why, t.Line = status, why, nil }

// Load reads the rows of the input, JSONL, and offers the tools in those that have none of their own. A row that cannot be one of a workflow is
// rejected alone; two rows of one custom_id, and an input beyond the caps, are errors.
func Load(input io.Reader, definitions []byte, caps Caps) ([]*Thread, error) {
	var threads []*Thread
	taken, total := map[string]bool{}, int64(0)
	for reader := rows.NewReader(input, caps.RowBytes); ; {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return threads, nil
		}
		if err != nil && !errors.Is(err, rows.ErrLineTooLong) {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		t := load(line, err, definitions, caps)
		if taken[t.ID] {
			return nil, fmt.Errorf("read rows: line %d: custom_id %q stands there twice", line.Number, t.ID)
		}
		taken[t.ID] = true
		threads, total = append(threads, t), total+int64(len(t.Line))
		if len(threads) > caps.Rows || total > caps.Bytes {
			return nil, fmt.Errorf("read rows: line %d: the input is over the cap of %d rows or %d bytes", line.Number, caps.Rows, caps.Bytes)
		}
	}
}

// load makes a thread of one line.
func load(line rows.Line, tooLong error, definitions []byte, caps Caps) *Thread {
	t := &Thread{ID: "line " + strconv.Itoa(line.Number)}
	if tooLong != nil {
		t.end(Rejected, tooLong.Error())
		return t
	}
	row, fault := rows.Parse(line.Bytes, &rows.Rules{URLs: []string{"/v1/chat/completions"}})
	if fault != nil {
		if fault.HasCustomID {
			t.ID = fault.CustomID
		}
		t.end(Rejected, fmt.Sprintf("line %d: %s: %s", line.Number, fault.Code, fault.Message))
		return t
	}
	t.ID = row.CustomID
	offered, err := conversation.Offer(bytes.Clone(line.Bytes), definitions)
	switch {
	case err != nil:
		t.end(Rejected, fmt.Sprintf("line %d: %v", line.Number, err))
	case len(offered) > caps.RowBytes:
		t.end(Rejected, fmt.Sprintf("line %d: with its tools it is over the cap of %d bytes", line.Number, caps.RowBytes))
	default:
		t.Line = offered
	}
	return t
}
