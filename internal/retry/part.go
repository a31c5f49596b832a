package retry

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/requeue"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

// MaxRows is how many rows one part holds: about 4 MB of memory and, as a rule, seconds of work, since whoever asks turns to another replica when
// an answer is late.
const MaxRows = 50_000

// ErrRowsGone is returned when a row that is meant is not in the job's blocks any more.
var ErrRowsGone = errors.New("the rows of the job are gone")

// Bus is what this package needs of the store.
type Bus interface {
	Read(ctx context.Context, stream, filter string, from uint64) iter.Seq2[jetstore.Message, error]
	At(ctx context.Context, stream string, sequence uint64) (jetstore.Message, error)
	PutObject(ctx context.Context, stream, subject string, r io.Reader) (jetstore.Object, error)
	OpenObject(ctx context.Context, o jetstore.Object) (io.ReadCloser, error)
}

// Part is some of the rows that are meant.
type Part struct {
	// Next is the result that the next part begins behind; 0: there is none.
	Next uint64
	// LeftOut is how many rows other jobs hold.
	LeftOut int

	rows map[block.Hash]block.Hash // custom_id by source
	job  *jobs.Job
}

// Rows is how many rows are in the part.
func (p *Part) Rows() int { return len(p.rows) }

// Find reads the job's results behind a sequence, and picks at most limit rows.
func Find(ctx context.Context, bus Bus, j *jobs.Job, s *Selection, after uint64, limit int) (*Part, error) {
	p := &Part{rows: make(map[block.Hash]block.Hash), job: j}
	last := after
	for m, err := range bus.Read(ctx, jetstore.StreamResults, events.ResultsFilter(j.Queue, j.Name()), after+1) {
		if err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
		if !Unanswered(events.Outcome(m.Header.Get(events.HeaderOutcome))) {
			continue // most are answered: what they say need not be read
		}
		if len(p.rows) == limit {
			p.Next = last
			return p, nil
		}
		if err := p.note(&m, s); err != nil {
			return nil, err
		}
		last = m.Sequence
	}
	return p, nil
}

func (p *Part) note(m *jetstore.Message, s *Selection) error {
	r, err := events.ParseResult(m.Data) // of a big one the envelope, which has all that is asked
	if err != nil {
		return fmt.Errorf("read result %d: %w", m.Sequence, err)
	}
	raw, err := hex.DecodeString(m.Header.Get(events.HeaderSource))
	if err != nil || len(raw) != len(block.Hash{}) {
		return fmt.Errorf("read result %d: its source is %.80q", m.Sequence, m.Header.Get(events.HeaderSource))
	}
	if s.Takes(&r) {
		p.rows[block.Hash(raw)] = rows.HashID(r.CustomID)
	}
	return nil
}

// LeaveOut takes out the rows that the linked jobs hold: they have, or get, another answer there.
func (p *Part) LeaveOut(ctx context.Context, bus Bus, linked *requeue.Linked) error {
	if len(linked.Jobs) == 0 || len(p.rows) == 0 {
		return nil
	}
	ids := make(map[[16]byte]bool, len(p.rows))
	for _, id := range p.rows {
		ids[id] = true
	}
	if err := linked.Read(ctx, bus, func(id [16]byte) bool { return ids[id] }); err != nil {
		return err
	}
	for source, id := range p.rows {
		if _, held := linked.Held(id); held {
			delete(p.rows, source)
			p.LeftOut++
		}
	}
	return nil
}

// Stand reports whether the job's blocks are there: the keeper removes all of them at once.
func Stand(ctx context.Context, bus Bus, j *jobs.Job) (bool, error) {
	m, err := bus.At(ctx, jetstore.StreamRows, j.Walked.Sequence)
	if errors.Is(err, jetstore.ErrNotFound) {
		return false, nil
	}
	return m.Subject == events.RowsSubject(j.Queue, j.Name()) && m.At.Equal(j.Walked.At), err
}

// Messages yields the rows of the part, in the order of the job's blocks, ready to be published. The last pair is [ErrRowsGone] when one was
// not there.
func (p *Part) Messages(ctx context.Context, bus Bus) iter.Seq2[client.Row, error] {
	return func(yield func(client.Row, error) bool) {
		found := make(map[block.Hash]bool, len(p.rows)) // a block that was delivered twice holds them twice
		for m, err := range bus.Read(ctx, jetstore.StreamRows, events.RowsSubject(p.job.Queue, p.job.Name()), 1) {
			if err != nil {
				yield(client.Row{}, fmt.Errorf("read rows: %w", err))
				return
			}
			if !p.block(ctx, bus, &m, found, yield) || len(found) == len(p.rows) {
				return
			}
		}
		if missing := len(p.rows) - len(found); missing > 0 {
			yield(client.Row{}, fmt.Errorf("%d of %d rows: %w", missing, len(p.rows), ErrRowsGone))
		}
	}
}

func (p *Part) block(
	ctx context.Context, bus Bus, m *jetstore.Message, found map[block.Hash]bool, yield func(client.Row, error) bool,
) (more bool) {
	for e, err := range block.Read(m.Data) {
		if err != nil {
			return yield(client.Row{}, fmt.Errorf("read block %d: %w", m.Sequence, err))
		}
		if id, meant := p.rows[e.Source]; !meant || id != e.ID || e.Fault != nil || found[e.Source] {
			continue
		}
		line, err := manifest.Original(ctx, bus, m, e)
		if err != nil {
			yield(client.Row{}, fmt.Errorf("read row of block %d: %w", m.Sequence, err))
			return false
		}
		found[e.Source] = true
		if !yield(p.row(e, line), nil) {
			return false
		}
	}
	return true
}

// row is a row as a message. One that asked for a window of its own asks for it again.
func (p *Part) row(e *block.Entry, line []byte) client.Row {
	row := client.Row{Line: line, ID: e.Source.String(), Number: e.Line}
	if e.Group.Window != p.job.Policy.Window {
		row.Window = e.Group.Window
	}
	return row
}
