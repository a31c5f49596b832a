package jetstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A leftover is a message of a work queue that its consumer counts as done and the stream still holds. It is what a server killed with
// SIGKILL can come back with: nats-server 2.15.3 forgets the deletion of the first message of a file block, one in about 8 MiB, while
// the consumer's ack floor is already behind it (seen in five of six kills under load). Nobody would ever deliver it again, and a seal, which
// waits for the oldest message left on its subject, would wait for ever. [Store.Batches] gives leftovers to its handler once more: what
// follows from them is stored already, so that changes nothing, and the ack deletes them.
const (
	// leftoverInterval is how often they are looked for; the first look is at once.
	leftoverInterval = 5 * time.Second
	// leftoverDoubt is how long a message must stay behind the floor to be one: an ack that is under way does so for an instant.
	leftoverDoubt = 250 * time.Millisecond
)

// answerable is how a delivery is answered; [jetstream.Msg] has it.
type answerable interface {
	Ack() error
	DoubleAck(ctx context.Context) error
	NakWithDelay(delay time.Duration) error
	InProgress() error
	Term() error
}

// leftovers returns some of them, when it is time to look. Errors are reported and end the look.
func (p *puller) leftovers(ctx context.Context, o BatchOptions) []Delivery {
	if time.Since(p.lookedAt) < leftoverInterval {
		return nil
	}
	p.lookedAt = time.Now()
	floor, err := p.doneBelow(ctx)
	if err != nil || floor == 0 {
		p.reportUnlessOver(ctx, err)
		return nil
	}
	doubt := time.NewTimer(leftoverDoubt)
	defer doubt.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-doubt.C:
	}
	batch, err := p.collectLeftovers(ctx, floor, o)
	p.reportUnlessOver(ctx, err)
	if len(batch) > 0 {
		p.lookedAt = time.Time{} // there may be more
	}
	return batch
}

func (p *puller) reportUnlessOver(ctx context.Context, err error) {
	if ctx.Err() == nil {
		p.hooks.report("", err)
	}
}

// doneBelow is the consumer's ack floor if the stream is a work queue that holds something at or below it, and else 0.
func (p *puller) doneBelow(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stream, err := p.store.js.Stream(ctx, p.stream)
	if err != nil {
		return 0, fmt.Errorf("look for leftovers of %s: %w", p.stream, err)
	}
	info := stream.CachedInfo()
	if info.Config.Retention != jetstream.WorkQueuePolicy || info.State.Msgs == 0 {
		return 0, nil
	}
	consumer, err := p.bind(ctx)
	if err != nil {
		return 0, err
	}
	state, err := consumer.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for leftovers of %s: %w", p.stream, err)
	}
	if info.State.FirstSeq > state.AckFloor.Stream {
		return 0, nil
	}
	return state.AckFloor.Stream, nil
}

// collectLeftovers reads the oldest messages up to the floor, as many as fit into a batch.
func (p *puller) collectLeftovers(ctx context.Context, floor uint64, o BatchOptions) (batch []Delivery, err error) {
	size, server := 0, p.store.nc.ConnectedServerId()
	for seq := uint64(1); seq <= floor && len(batch) < o.MaxMessages && size < o.MaxBytes; {
		m, err := p.store.ask(ctx, p.stream, leaderQuery{Seq: seq, NextFor: ">"})
		if errors.Is(err, ErrNotFound) || err == nil && m.Sequence > floor {
			return batch, nil
		}
		if err != nil {
			return batch, err
		}
		d := Delivery{
			Stream: p.stream, Consumer: p.consumer, Subject: m.Subject, Header: m.Header, Data: m.Data, Sequence: m.Sequence, At: m.At,
			Delivered: 1, store: p.store, hooks: p.hooks, done: new(atomic.Bool), server: server,
			message: &leftover{store: p.store, stream: p.stream, sequence: m.Sequence},
		}
		batch = append(batch, d)
		size += d.size()
		seq = m.Sequence + 1
	}
	return batch, nil
}

// leftover answers a delivery that the consumer knows nothing of: what would ack it deletes it, and what would give it back leaves it
// for the next look. It is safe for concurrent use.
type leftover struct {
	store    *Store
	stream   string
	sequence uint64
	answered atomic.Bool
}

func (l *leftover) Ack() error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	return l.DoubleAck(ctx)
}

// DoubleAck deletes the message. One that is gone is done.
func (l *leftover) DoubleAck(ctx context.Context) error {
	if l.answered.Swap(true) {
		return jetstream.ErrMsgAlreadyAckd
	}
	stream, err := l.store.js.Stream(ctx, l.stream)
	if err == nil {
		err = stream.DeleteMsg(ctx, l.sequence)
	}
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("delete leftover %d of %s: %w", l.sequence, l.stream, err)
	}
	return nil
}

func (l *leftover) NakWithDelay(time.Duration) error {
	if l.answered.Swap(true) {
		return jetstream.ErrMsgAlreadyAckd
	}
	return nil
}

func (l *leftover) InProgress() error { return nil }

func (l *leftover) Term() error { return l.Ack() }
