package resultdiff

import (
	"bytes"
	"context"
	"iter"

	"github.com/batchbus/batchbus/internal/distinct"
	"github.com/batchbus/batchbus/pkg/events"
)

// Kinds of a [Change].
const (
	OnlyA   = "only_a"  // OnlyA: B has no such row.
	OnlyB   = "only_b"  // OnlyB: A has no such row.
	Outcome = "outcome" // Outcome: the row ended in another way.
	Answer  = "answer"  // Answer: the same outcome with another answer.
	Error   = "error"   // Error: the same outcome with an error of another code.
)

// Change is a row that differs.
type Change struct {
	CustomID string `json:"custom_id"`
	Kind     string `json:"change"`
	A        *Side  `json:"a"`
	B        *Side  `json:"b"`
	// SameText says of two answers whether their text is the same; null where one has none.
	SameText *bool `json:"same_text,omitempty"`
}

// Side is the row in one of the sets.
type Side struct {
	Outcome string       `json:"outcome"`
	Code    string       `json:"code,omitempty"`
	Usage   events.Usage `json:"usage"`
}

// Summary counts rows. Usage is that of all rows, those in one set alone included.
type Summary struct {
	RowsA    int          `json:"rows_a"`
	RowsB    int          `json:"rows_b"`
	Same     int          `json:"same"`      // byte by byte
	SameText int          `json:"same_text"` // that count as the same for their text
	OnlyA    int          `json:"only_a"`
	OnlyB    int          `json:"only_b"`
	Outcome  int          `json:"outcome"`
	Answer   int          `json:"answer"`
	Error    int          `json:"error"`
	Doubled  int          `json:"doubled"` // rows whose id came before in their set, of which the first one counts
	NoID     int          `json:"no_id"`   // lines of both without a custom_id
	UsageA   events.Usage `json:"usage_a"`
	UsageB   events.Usage `json:"usage_b"`
}

// Differs reports whether any row does.
func (s *Summary) Differs() bool { return s.OnlyA+s.OnlyB+s.Outcome+s.Answer+s.Error > 0 }

// Diff compares two sets; text says that answers with the same text are the same. each takes every row that differs, in the order of the hashes of
// their ids.
func Diff(ctx context.Context, a, b *Set, text bool, each func(Change) error) (Summary, error) {
	d := differ{text: text, each: each}
	d.sum = Summary{RowsA: a.Rows, RowsB: b.Rows, NoID: a.NoID + b.NoID}
	fromA, stopA := pull(a)
	defer stopA()
	fromB, stopB := pull(b)
	defer stopB()
	inA, err := fromA.next(&d.sum)
	if err != nil {
		return d.sum, err
	}
	inB, err := fromB.next(&d.sum)
	for err == nil && (inA != nil || inB != nil) {
		if ctx.Err() != nil {
			return d.sum, context.Cause(ctx)
		}
		order := compare(inA, inB)
		left, right := (*Result)(nil), (*Result)(nil)
		if order <= 0 {
			if left, err = fromA.read(inA); err != nil {
				break
			}
			inA, err = fromA.next(&d.sum)
		}
		if err == nil && order >= 0 {
			if right, err = fromB.read(inB); err != nil {
				break
			}
			inB, err = fromB.next(&d.sum)
		}
		if err == nil {
			err = d.row(left, right)
		}
	}
	return d.sum, err
}

// compare orders two rows by their ids; a set that has no more comes last.
func compare(a, b *distinct.Row) int {
	switch {
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}

// reading is a set on its way, in the order of ids.
type reading struct {
	set  *Set
	pull func() (distinct.Row, error, bool)
	last *distinct.Row
}

func pull(s *Set) (*reading, func()) {
	next, stop := iter.Pull2(s.ids.Rows())
	return &reading{set: s, pull: next}, stop
}

// next is the first row of the next id; nil at the end.
func (r *reading) next(sum *Summary) (*distinct.Row, error) {
	for {
		row, err, more := r.pull()
		if !more || err != nil {
			return nil, err
		}
		if r.last == nil || row.ID != r.last.ID {
			r.last = &row
			return &row, nil
		}
		sum.Doubled++
	}
}

func (r *reading) read(at *distinct.Row) (*Result, error) {
	result, err := r.set.result(at.Place)
	return &result, err
}

type differ struct {
	text bool
	each func(Change) error
	sum  Summary
}

// row compares a row of A with that of B; one of them may be missing.
func (d *differ) row(a, b *Result) error {
	change := Change{A: sideOf(a, &d.sum.UsageA), B: sideOf(b, &d.sum.UsageB)}
	switch {
	case b == nil:
		change.CustomID, change.Kind = a.CustomID, OnlyA
		d.sum.OnlyA++
	case a == nil:
		change.CustomID, change.Kind = b.CustomID, OnlyB
		d.sum.OnlyB++
	default:
		change.CustomID = a.CustomID
		change.Kind, change.SameText = d.kind(a, b)
	}
	if change.Kind == "" {
		return nil
	}
	return d.each(change)
}

func sideOf(r *Result, usage *events.Usage) *Side {
	if r == nil {
		return nil
	}
	usage.Add(r.Usage)
	return &Side{Outcome: r.Outcome, Code: r.Code, Usage: r.Usage}
}

// kind says how two results of one row differ; "" when they do not.
func (d *differ) kind(a, b *Result) (kind string, sameText *bool) {
	switch {
	case a.Outcome != b.Outcome:
		d.sum.Outcome++
		return Outcome, nil
	case bytes.Equal(a.Answer, b.Answer) && a.Code == b.Code:
		d.sum.Same++
		return "", nil
	case a.Code != b.Code:
		d.sum.Error++
		return Error, nil
	}
	saidA, knownA := Text(a.Answer)
	saidB, knownB := Text(b.Answer)
	if knownA && knownB {
		same := saidA == saidB
		sameText = &same
	}
	if d.text && sameText != nil && *sameText {
		d.sum.SameText++
		return "", nil
	}
	d.sum.Answer++
	return Answer, sameText
}
