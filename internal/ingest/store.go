package ingest

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// maxInFlightBytes bounds what the window holds: a fetch may stand for much more, by messages that name objects.
const maxInFlightBytes = 32 << 20

// put adds one row to its job's block, and sends the block that is full.
func (w *worker) put(ctx context.Context, m *message, subject string, e *block.Entry) error {
	if !w.packer.fits(e) {
		return w.putAlone(ctx, m, subject, e)
	}
	if full := w.packer.add(subject, e, m); full != nil {
		return w.sendSheet(ctx, full, &nats.Msg{Subject: subject, Data: full.builder.Bytes()})
	}
	return nil
}

// putAlone stores a row that no block can hold beside others: the block as an object, and on the bus the block without the payload.
func (w *worker) putAlone(ctx context.Context, m *message, subject string, e *block.Entry) error {
	s := w.packer.blank(subject)
	s.add(e)
	object, err := w.bus.PutObject(ctx, jetstore.StreamRows, subject, bytes.NewReader(s.builder.Bytes()))
	if err != nil {
		return fmt.Errorf("store big row: %w", err)
	}
	s.hold(m)
	envelope := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: block.Envelope(e)}
	object.SetHeader(envelope.Header)
	return w.sendSheet(ctx, s, envelope)
}

func (w *worker) sendSheet(ctx context.Context, s *sheet, msg *nats.Msg) error {
	return w.send(ctx, msg, w.window.Publish, func(jetstore.Ack) {
		w.observe.Ingested(s.rows)
		for _, m := range s.from {
			w.release(m)
		}
		w.packer.recycle(s)
	})
}

// refuse publishes a dead letter about m or one of its rows.
func (w *worker) refuse(ctx context.Context, m *message, d *events.DeadLetter) error {
	d.At = time.Now().UTC()
	msg, err := w.bus.Fit(ctx, jetstore.StreamDeadletters, messages.DeadLetter(d), messages.DeadLetterEnvelope(d))
	if err != nil {
		return fmt.Errorf("store big dead letter: %w", err)
	}
	m.pending++
	return w.send(ctx, msg, w.window.PublishOnce, func(ack jetstore.Ack) {
		w.observe.DeadLetter(d.Code, ack)
		w.release(m)
	})
}

func (w *worker) refuseWhole(ctx context.Context, m *message, why refusal, job string, payload []byte) error {
	return w.refuse(ctx, m, wholeDeadLetter(&m.request, why, job, payload, time.Now().UTC()))
}

type publish func(context.Context, *nats.Msg, func(jetstore.Ack)) error

// send puts a message into the window. After an error the messages that wait for it are never released, and so given back.
func (w *worker) send(ctx context.Context, msg *nats.Msg, publish publish, settled func(jetstore.Ack)) error {
	size := len(msg.Data)
	if w.inFlight > 0 && w.inFlight+size > maxInFlightBytes {
		w.settle(ctx)
	}
	w.inFlight += size
	return publish(ctx, msg, func(ack jetstore.Ack) {
		w.moved()
		w.inFlight -= size
		settled(ack)
	})
}

// flush closes all open blocks and waits until everything under way is stored or refused, or ctx has ended.
func (w *worker) flush(ctx context.Context) {
	for _, s := range w.packer.drain() {
		if err := w.sendSheet(ctx, s, &nats.Msg{Subject: s.subject, Data: s.builder.Bytes()}); err != nil {
			w.log.Error().Err(err).Msg("block is not stored")
		}
	}
	w.settle(ctx)
}

func (w *worker) settle(ctx context.Context) {
	if err := w.window.Flush(ctx); err != nil {
		w.log.Error().Err(err).Msg("publishes are not stored")
	}
	w.inFlight = 0
}
