package ingest

import (
	"iter"
	"slices"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// verdict is what became of one row: exactly one of the two is set. Both are reused from one row to the next.
type verdict struct {
	entry *block.Entry       // a good row, or a refused one that its custom_id still names
	dead  *events.DeadLetter // a refused row that nobody could be told of by its custom_id
}

// judge turns payloads into verdicts and keeps its memory between them. It is not safe for concurrent use.
type judge struct {
	parser rows.Parser
	entry  block.Entry
	fault  block.Fault
	dead   events.DeadLetter
	tail   []byte
}

// rows judges every row of a payload alone. What it yields aliases payload and the judge, until the next step.
func (j *judge) rows(r *request, p *snapshot, payload []byte) iter.Seq[verdict] {
	lines := linesOf(r, payload)
	badWindow := r.window != "" && !slices.Contains(p.windows, r.window)
	return func(yield func(verdict) bool) {
		for line := range lines {
			number := r.firstLine - 1 + line.Number
			row, fault := j.parser.Parse(line.Bytes, p.rules)
			if badWindow {
				fault = windowFault(row, fault, p.windows)
			}
			j.begin(r, p, number, line.Bytes)
			if !yield(j.verdict(row, fault, line.Bytes)) {
				return
			}
		}
	}
}

// linesOf are the rows of a message. Those of a part of a file are what `batchbus validate` finds in the file, wherever it was cut.
func linesOf(r *request, payload []byte) iter.Seq[rows.Line] {
	if r.part {
		return rows.Part(payload, r.firstLine)
	}
	lines, _ := rows.Payload(payload)
	return lines
}

// begin fills in what a row has whether it is good or not.
func (j *judge) begin(r *request, p *snapshot, number int, line []byte) {
	source, row := sourceOf(r.origin, number, line)
	window := r.window
	if window == "" {
		window = p.window
	}
	j.entry = block.Entry{Source: source, Row: row, Sequence: r.sequence, Line: number, Group: events.GroupKey{Window: window}}
	j.dead = events.DeadLetter{
		Queue: p.queue, Job: p.job, Subject: r.subject, Sequence: r.sequence, Line: number,
	}
}

func (j *judge) verdict(row rows.Row, fault *rows.Fault, line []byte) verdict {
	switch {
	case fault == nil:
		j.tail = row.AppendTail(j.tail[:0])
		j.entry.CustomID, j.entry.Tail = row.CustomID, j.tail
		j.entry.Group.URL, j.entry.Group.Model = row.URL, row.Model
	case fault.HasCustomID:
		j.fault = block.Fault{
			Code: fault.Code, Message: fault.Message, Hint: fault.Hint, Column: fault.Column, Payload: line,
		}
		j.entry.CustomID, j.entry.Fault, j.entry.Group = fault.CustomID, &j.fault, events.GroupKey{}
	default:
		j.dead.Code, j.dead.Message, j.dead.Hint, j.dead.Column = fault.Code, fault.Message, fault.Hint, fault.Column
		j.dead.Source, j.dead.Payload = j.entry.Source.String(), line
		return verdict{dead: &j.dead}
	}
	j.entry.ID = rows.HashID(j.entry.CustomID)
	return verdict{entry: &j.entry}
}

// windowFault is the fault of every row of a message that asks for a window its queue does not have. The id of a good row is its
// own, that of a bad one what could be read of it.
func windowFault(row rows.Row, fault *rows.Fault, windows []string) *rows.Fault {
	bad := rows.Fault{
		Code: events.DLBadWindow, Message: "the header " + events.HeaderWindow + " names no allowed window",
		Hint: "allowed, exactly so: " + joined(windows), CustomID: row.CustomID, HasCustomID: true,
	}
	if fault != nil {
		bad.CustomID, bad.HasCustomID = fault.CustomID, fault.HasCustomID
	}
	return &bad
}

// wholeDeadLetter is the dead letter of a whole message.
func wholeDeadLetter(r *request, why refusal, job string, payload []byte, now time.Time) *events.DeadLetter {
	source, _ := sourceOf(r.origin, wholeMessage, payload)
	return &events.DeadLetter{
		Code: why.code, Message: why.message, Hint: why.hint, Queue: r.queue, Job: job, Source: source.String(),
		Subject: r.subject, Sequence: r.sequence, Line: r.firstLine, At: now, Payload: payload,
	}
}
