package ingest

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// worker handles one fetch after another and keeps its memory between them. It is not safe for concurrent use.
type worker struct {
	bus       *jetstore.Store
	jobs      *jobs.Store
	snapshots *snapshots
	policies  Policies
	log       zerolog.Logger
	timeout   time.Duration
	observe   obs.Hooks

	judge    judge
	packer   *packer
	window   *jetstore.Window
	inFlight int // bytes in the window
	// moved says that something was stored: a message of a million bad lines takes longer than any one timeout, and begun anew it would not
	// come further.
	moved func()
}

// handle stores what follows from a fetch and answers every message of it. It never fails as a whole: what could not be stored is
// given back message by message.
func (w *worker) handle(ctx context.Context, deliveries []jetstore.Delivery) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	standstill := time.AfterFunc(w.timeout, cancel)
	defer standstill.Stop()
	w.moved = func() { standstill.Reset(w.timeout) }
	w.packer.limit = w.bus.MaxPayload() / 2
	batch := readMessages(deliveries)
	for _, m := range batch {
		w.notice(ctx, m)
	}
	for len(batch) > 0 {
		batch = w.round(ctx, batch)
	}
	return jetstore.Later(firstRetryDelay, nil) // for a message that was left without an answer: never ack what we do not know
}

// notice does what must happen the moment a message is seen.
func (w *worker) notice(ctx context.Context, m *message) {
	for _, name := range m.ignored {
		w.about(m).Warn().Str("header", name).Msg("header is left aside: its value makes no sense")
	}
	if m.ends() && m.cancels {
		if err := w.wishCancel(ctx, m.queue, m.target); err != nil {
			m.fail(err)
		}
	}
}

// round handles the part of a batch that needs no seal in front of it, then the seals behind that, and returns the rest.
func (w *worker) round(ctx context.Context, batch []*message) (rest []*message) {
	ready, seals, rest := split(batch)
	for _, m := range ready {
		w.take(ctx, m)
	}
	w.flush(ctx)
	w.answer(ctx, ready)
	for _, m := range seals {
		w.seal(ctx, m)
	}
	return rest
}

// take judges m's rows and sends what follows from them on its way.
func (w *worker) take(ctx context.Context, m *message) {
	m.pending++
	if err := w.spread(ctx, m); err != nil {
		m.fail(err)
	}
	w.release(m)
}

// release takes one from what m waits for, and acks it when that was the last.
func (w *worker) release(m *message) {
	m.pending--
	if m.stored() && !m.held {
		w.ack(m)
	}
}

// spread turns one message into blocks and dead letters.
func (w *worker) spread(ctx context.Context, m *message) error {
	if m.refused != nil {
		return w.refuseWhole(ctx, m, *m.refused, m.job, m.delivery.Data)
	}
	claimed, isClaim := claimOf(m.delivery.Header)
	if m.seals && !isClaim && blank(m.delivery.Data) {
		return nil // and no job is opened for rows that are not there: a rolling seal would open the next window's
	}
	job, err := w.jobOf(ctx, m)
	if err != nil {
		return err
	}
	snapshot, err := w.snapshots.of(ctx, m.queue, job)
	if err != nil {
		return err
	}
	if isClaim {
		return w.claimed(ctx, m, snapshot, claimed)
	}
	return w.rows(ctx, m, snapshot, m.delivery.Data)
}

// claimed spreads the rows of the object that m names. A payload beside it is nobody's row, and told of: it must not vanish.
func (w *worker) claimed(ctx context.Context, m *message, p *snapshot, c claim) error {
	payload, why, err := w.redeem(ctx, m, c)
	switch {
	case err != nil:
		return err
	case why != nil:
		err = w.refuseWhole(ctx, m, *why, p.job, nil)
	default:
		err = w.rows(ctx, m, p, payload)
	}
	if err != nil || blank(m.delivery.Data) {
		return err
	}
	return w.refuseWhole(ctx, m, besideObject(), p.job, m.delivery.Data)
}

func (w *worker) rows(ctx context.Context, m *message, p *snapshot, payload []byte) error {
	found := false
	for v := range w.judge.rows(&m.request, p, payload) {
		found = true
		var err error
		if v.dead != nil {
			err = w.refuse(ctx, m, v.dead)
		} else {
			err = w.put(ctx, m, p.subject, v.entry)
		}
		if err != nil {
			return err
		}
	}
	if found || m.seals {
		return nil
	}
	return w.refuseWhole(ctx, m, refusal{events.DLEmpty, "the message holds no row and is no seal", ""}, p.job, payload)
}

// jobOf is the job that m's rows belong to.
func (w *worker) jobOf(ctx context.Context, m *message) (string, error) {
	if m.job != "" || m.rolling != "" {
		return m.job + m.rolling, nil // one of them is empty
	}
	linger, err := w.policies.Linger(ctx, m.queue, m.at)
	if err != nil {
		return "", err
	}
	return events.RollingAt(m.at, linger).Job(), nil
}

// answer answers what a round has handled. The last ack of those that a seal waits for is confirmed by the server; it handles the acks
// of one consumer in order, so then all of them have arrived.
func (w *worker) answer(ctx context.Context, batch []*message) {
	var last *message
	for _, m := range batch {
		switch {
		case m.acked:
		case !m.stored():
			w.giveBack(m)
		default:
			if last != nil {
				w.ack(last)
			}
			last = m
		}
	}
	if last != nil {
		w.ackSync(ctx, last)
	}
}

func (w *worker) ack(m *message) {
	m.acked = true
	if err := m.delivery.Ack(); err != nil {
		w.about(m).Warn().Err(err).Msg("ack is not sent: the message will come again")
	}
}

func (w *worker) ackSync(ctx context.Context, m *message) {
	m.acked = true
	if err := m.delivery.AckSync(ctx); err != nil {
		w.about(m).Warn().Err(err).Msg("ack is not confirmed: the message may come again")
	}
}

// giveBack returns a message that is not stored, for longer each time.
func (w *worker) giveBack(m *message) {
	why := m.why()
	delay := retryDelay(why, m.ends(), m.delivery.Delivered)
	if !errors.Is(why, errNoRoom) { // which is said once, when the stream got full
		w.about(m).Warn().Err(why).Dur("delay", delay).Msg("message is given back")
	}
	w.nak(m, delay)
}

func (w *worker) nak(m *message, delay time.Duration) {
	if err := m.delivery.Nak(delay); err != nil {
		w.about(m).Warn().Err(err).Msg("message is not given back: it will come again later")
	}
}

// about is the log for lines about one message.
func (w *worker) about(m *message) *zerolog.Logger {
	job := m.job
	if m.target != "" {
		job = m.target
	}
	log := w.log.With().Str("queue", m.queue).Str("job", job).Uint64("sequence", m.sequence).
		Int("delivered", m.delivery.Delivered).Logger()
	return &log
}

func blank(payload []byte) bool { return len(bytes.TrimSpace(payload)) == 0 }
