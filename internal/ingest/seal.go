package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// turn is what the oldest message left on a seal's subject means for the seal.
type turn int

const (
	turnWait  turn = iota // rows in front of it are not stored yet
	turnObey              // it is next
	turnEarly             // it cancels a rolling job whose window is still open: the wish is noted, the sweeper seals later
	turnGone              // it was obeyed and deleted: this is a late delivery
)

// oldest is the oldest message left on a subject, by the word of the stream's leader.
type oldest struct {
	found    bool
	sequence uint64
	at       time.Time
}

// turnOf decides alone. A seal on its job's subject is obeyed when nothing is left in front of it; a rolling job's, which stands on the
// subject of the whole queue, when nothing is left there that is older than the end of the job's window.
func turnOf(r *request, first oldest) turn {
	window, rolling := events.ParseRolling(r.target)
	switch {
	case !first.found || first.sequence > r.sequence:
		return turnGone
	case rolling && r.at.Before(window.End):
		return turnEarly
	case rolling && !first.at.Before(window.End):
		return turnObey
	case first.sequence < r.sequence:
		return turnWait
	default:
		return turnObey
	}
}

// seal obeys m if it is its turn, and else gives it back for a moment.
func (w *worker) seal(ctx context.Context, m *message) {
	if m.failure != nil {
		w.giveBack(m)
		return
	}
	first, err := w.oldest(ctx, m.subject)
	if err != nil {
		m.fail(err)
		w.giveBack(m)
		return
	}
	switch turnOf(&m.request, first) {
	case turnWait:
		w.nak(m, growing(firstSealDelay, maxSealDelay, m.delivery.Delivered))
	case turnGone:
		w.ack(m)
	case turnEarly:
		w.obey(ctx, m, func() error { return nil })
	case turnObey:
		w.obey(ctx, m, func() error { return w.publishSeal(ctx, m) })
	}
}

func (w *worker) oldest(ctx context.Context, subject string) (oldest, error) {
	first, err := w.bus.First(ctx, jetstore.StreamRequests, subject)
	if errors.Is(err, jetstore.ErrNotFound) {
		return oldest{}, nil
	}
	if err != nil {
		return oldest{}, fmt.Errorf("look for rows before the seal: %w", err)
	}
	return oldest{found: true, sequence: first.Sequence, at: first.At}, nil
}

// obey stores the rows in the seal's own payload, then does what the seal says, then acks it.
func (w *worker) obey(ctx context.Context, m *message, do func() error) {
	m.held = true
	w.take(ctx, m)
	w.flush(ctx)
	if m.stored() {
		if err := do(); err != nil {
			m.fail(err)
		}
	}
	if !m.stored() {
		w.giveBack(m)
		return
	}
	w.ackSync(ctx, m) // the next seal on this subject, maybe in this fetch, looks for what is in front of it
}

// publishSeal opens the job if there is none and puts a seal behind its rows. After an error the seal may stand there; a second one means
// nothing.
func (w *worker) publishSeal(ctx context.Context, m *message) error {
	p, err := w.snapshots.of(ctx, m.queue, m.target)
	if err != nil {
		return err
	}
	if _, err := w.bus.Publish(ctx, &nats.Msg{Subject: p.subject, Data: block.Seal(m.expected, m.sequence)}); err != nil {
		return fmt.Errorf("store seal: %w", err)
	}
	w.about(m).Info().Msg("job is sealed")
	return nil
}

// wishCancel notes in the job's state that it is to be cancelled, opening it if there is none. It is idempotent; after an error the wish
// may be noted.
func (w *worker) wishCancel(ctx context.Context, queue, job string) error {
	if _, err := w.snapshots.of(ctx, queue, job); err != nil {
		return err
	}
	for {
		j, err := w.jobs.Job(ctx, queue, job)
		if err != nil || j.CancelWanted != nil || j.State == events.JobCompleted {
			return err
		}
		change := jobs.NewChange(time.Now())
		wanted := change.At()
		j.CancelWanted = &wanted
		change.Job(&j, events.JobCancelling)
		if err = w.jobs.Commit(ctx, change); !jobs.IsConflict(err) {
			return err
		}
	}
}
