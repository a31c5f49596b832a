package jetstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Delivery is one message given to a handler, and the way to say what became of it. Its methods are safe for concurrent
// use; the first of Ack, AckSync and Nak decides and the others then return an error. After the connection was lost they return one too: the
// message comes again.
type Delivery struct {
	Stream    string
	Consumer  string
	Subject   string
	Header    nats.Header
	Data      []byte
	Sequence  uint64    // of the stream
	At        time.Time // when the stream stored the message
	Delivered int       // how many times it was delivered, this one included
	Pending   uint64    // messages of the consumer behind this one, when it was delivered

	message answerable
	store   *Store
	hooks   Hooks
	done    *atomic.Bool // an answer was sent
	server  string       // the process that delivered it, see [Store.Anchor]
	worker  *worker      // that handles it in [Store.Each]
}

func (p *puller) deliveryOf(m jetstream.Msg, server string) (Delivery, error) {
	meta, err := m.Metadata()
	if err != nil {
		return Delivery{}, fmt.Errorf("read delivery: %w", err)
	}
	return Delivery{
		Stream: meta.Stream, Consumer: meta.Consumer, Subject: m.Subject(), Header: m.Headers(), Data: m.Data(),
		Sequence: meta.Sequence.Stream, At: meta.Timestamp, Delivered: int(meta.NumDelivered), Pending: meta.NumPending,
		message: m, store: p.store, hooks: p.hooks, done: new(atomic.Bool), server: server,
	}, nil
}

// Ack says that the message is done. It does not wait: if the word gets lost, the message is delivered again.
func (d Delivery) Ack() error { return d.answer("ack", Acked, d.message.Ack) }

// AckSync is Ack and waits for the server's confirmation, 15 times as slow, for 5 s at most: nats.go waits for the end of ctx even when the
// connection is gone that the confirmation was to come by. After an error: done or not.
func (d Delivery) AckSync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return d.answer("ack", Acked, func() error { return d.message.DoubleAck(ctx) })
}

// Nak gives the message back, to be delivered again after the delay. It does not wait; if the word gets lost, the message is
// delivered again after the consumer's AckWait.
func (d Delivery) Nak(delay time.Duration) error {
	return d.answer("nak", GivenBack, func() error { return d.message.NakWithDelay(delay) })
}

// InProgress starts the consumer's AckWait anew. [Store.Each] and [Store.Batches] do it by themselves while a handler runs.
func (d Delivery) InProgress() error { return d.said("keep", d.message.InProgress()) }

// term ends the message without a result. Only [settle] calls it, after a dead letter is stored.
func (d Delivery) term() error { return d.answer("terminate", Terminated, d.message.Term) }

// size is about what the server counts for a message.
func (d Delivery) size() int { return len(d.Subject) + headerSize(d.Header) + len(d.Data) }

// answer tells the hook of an answer that was sent. An answer that is not confirmed may have been. None is sent to another server than the
// one that delivered the message: what follows from it need not be stored there.
func (d Delivery) answer(verb string, answer Answer, send func() error) error {
	if !d.done.Load() {
		defer d.store.on(Verb(answer), d.Subject)()
	}
	err := d.store.isWith(d.server)
	if err == nil {
		err = send()
	}
	if err == nil {
		d.done.Store(true)
		d.hooks.answered(answer, d.Delivered)
	}
	return d.said(verb, err)
}

func (d Delivery) said(verb string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb, d.Subject, err)
	}
	return nil
}
