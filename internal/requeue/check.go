package requeue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"iter"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// MaxFindings is how many of the rows that cannot be published a [Plan] tells of; FindingCount counts all.
const MaxFindings = 1000

// Finding is why a row cannot be published.
type Finding struct {
	From                string
	Line, Column        int
	Code, Message, Hint string
}

// CodeNoPayload is the code of a [Finding] about a refused row whose bytes are not on the bus any more.
const CodeNoPayload = "no_payload"

// Plan is what the first pass has found.
type Plan struct {
	Rows     int         // to be published
	Seen     int         // all that were looked at
	Held     map[int]int // rows left out, by the index of the linked job that holds them
	Digest   string      // hex SHA-256 over what was seen, in its order
	Findings []Finding
	Faults   int // how many there are
	Matched  int // of Rows: those that correct a refused row, or are one

	ids    map[[16]byte][16]byte // custom_id to the row that is to be published
	config Config
}

// Config says how rows are judged, and what is left out.
type Config struct {
	Rules *rows.Rules
	// Rebuild says that Rules change a row (a model in place of its own): its line is made anew, with the body spliced.
	Rebuild bool
	// Linked tells the index of the linked job that holds a custom_id; nil: none does.
	Linked func(id [16]byte) (index int, held bool)
}

// Check is the first pass. An error says that rows could not be read.
func Check(ctx context.Context, all Rows, c Config) (*Plan, error) {
	if c.Linked == nil {
		c.Linked = func([16]byte) (int, bool) { return 0, false }
	}
	p := &Plan{Held: make(map[int]int), ids: make(map[[16]byte][16]byte), config: c}
	sum, groups := sha256.New(), make(map[string]bool)
	fmt.Fprintf(sum, "model %q default %q\n", c.Rules.Model, c.Rules.DefaultModel)
	var parser rows.Parser
	for row, err := range all(ctx) {
		if err != nil {
			return nil, err
		}
		p.check(&row, &parser, sum, groups)
	}
	p.Digest = hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

func (p *Plan) check(row *Row, parser *rows.Parser, sum hash.Hash, groups map[string]bool) {
	p.Seen++
	if row.Lost != "" {
		p.fault(row, &rows.Fault{Code: CodeNoPayload, Message: "there is no row to publish: " + row.Lost})
		return
	}
	key := keyOf(row)
	sum.Write(key[:])
	parsed, fault := parser.Parse(row.Line, p.config.Rules)
	id, known := parsed.CustomID, true
	if fault != nil {
		id, known = fault.CustomID, fault.HasCustomID
	}
	fault = cmp.Or(row.Fault, fault)
	hashed := rows.HashID(id)
	if index, held := p.config.Linked(hashed); known && held {
		p.Held[index]++
		return
	}
	if fault != nil {
		p.fault(row, fault)
		return
	}
	if _, twice := p.ids[hashed]; twice {
		p.fault(row, &rows.Fault{
			Code: events.DLDuplicate, Message: fmt.Sprintf("custom_id %q stands on a row before, too", id),
			Hint: "choose one of them, by --code, --source or --edit",
		})
		return
	}
	kind := parsed.URL + " " + parsed.Model
	if !groups[kind] && len(groups) == events.MaxGroups {
		p.fault(row, &rows.Fault{
			Code: events.CodeTooManyGroups, Hint: "put the other models into a job of their own",
			Message: fmt.Sprintf("a job takes %d different pairs of url and model, and this row is of another", events.MaxGroups),
		})
		return
	}
	groups[kind] = true
	p.ids[hashed] = key
	p.Rows++
	if row.Source != "" {
		p.Matched++
	}
}

func (p *Plan) fault(row *Row, f *rows.Fault) {
	if p.Faults++; p.Faults <= MaxFindings {
		p.Findings = append(p.Findings, Finding{
			From: row.From, Line: row.Number, Column: f.Column, Code: f.Code, Message: f.Message, Hint: f.Hint,
		})
	}
}

// keyOf tells a row from every other: 128 bits over its source and its bytes.
func keyOf(row *Row) [16]byte {
	hashed := rows.HashRow(row.Line)
	return rows.HashRow(append(append([]byte(row.Source), '\n'), hashed[:]...))
}

// Messages is the second pass: the rows of the plan, ready to be published. What was not there in the first pass is left out.
func (p *Plan) Messages(ctx context.Context, all Rows) iter.Seq2[client.Row, error] {
	return func(yield func(client.Row, error) bool) {
		var parser rows.Parser
		for row, err := range all(ctx) {
			if err != nil {
				yield(client.Row{}, err)
				return
			}
			parsed, fault := parser.Parse(row.Line, p.config.Rules)
			if row.Lost != "" || row.Fault != nil || fault != nil {
				continue
			}
			if p.ids[rows.HashID(parsed.CustomID)] != keyOf(&row) {
				continue
			}
			if p.config.Rebuild {
				row.Line = parsed.AppendTail(events.AppendString([]byte(`{"custom_id":`), parsed.CustomID))
			}
			key := keyOf(&row) // of what is published
			if !yield(client.Row{Line: row.Line, ID: hex.EncodeToString(key[:]), Number: row.Number}, nil) {
				return
			}
		}
	}
}
