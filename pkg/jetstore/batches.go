package jetstore

import (
	"context"
	"time"
)

// BatchOptions are the settings of [Store.Batches]; the zero value is usable.
type BatchOptions struct {
	// MaxMessages of one batch. Default 1000.
	MaxMessages int
	// MaxBytes of one batch, headers included; one message more than that can come alone. Default 8 MiB.
	MaxBytes int
	// MaxWait is how long a batch waits for more after its first message. Default 50 ms.
	MaxWait time.Duration
	// DrainTimeout is how long the handler may go on after ctx has ended, before its own ctx ends too. Default 20 s.
	DrainTimeout time.Duration
	// Hooks hears errors and gives signs of life.
	Hooks
}

func (o BatchOptions) withDefaults() BatchOptions {
	if o.MaxMessages <= 0 {
		o.MaxMessages = 1000
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 8 << 20
	}
	o.MaxWait = orDefault(o.MaxWait, 50*time.Millisecond)
	o.DrainTimeout = orDefault(o.DrainTimeout, defaultDrain)
	return o
}

// Batches gives the messages of a durable consumer to handle, several in one call and one call at a time, until ctx ends;
// then it waits for the handler that runs, and returns nil. The error is reserved; today it always is nil. The
// messages of a batch are in stream order unless some were given back before.
//
// The handler answers each message by itself, as soon as what follows from it is stored. What it leaves unanswered is
// acked when it returns nil, and otherwise treated by its error as in [Store.Each], a [Refuse] for one message of several
// being the caller's mistake: it would be the dead letter of all of them. While handle runs, the messages are kept from
// others; they can still be delivered twice. Like Each it binds anew for ever. On a work queue it also hands out what a killed server
// has left behind of messages that were done (see leftover.go), which is why its consumer must be the queue's only one.
func (s *Store) Batches(ctx context.Context, stream, consumer string, o BatchOptions, handle func(context.Context, []Delivery) error) error {
	o = o.withDefaults()
	run, stop := outlive(ctx, o.DrainTimeout)
	defer stop()
	p := s.newPuller(stream, consumer, o.Hooks)
	for ctx.Err() == nil {
		o.beat()
		batch := p.leftovers(ctx, o)
		if len(batch) == 0 {
			batch = p.gather(ctx, o)
		}
		if ctx.Err() != nil {
			giveBack(batch, o.Hooks)
			continue
		}
		if len(batch) > 0 {
			s.handleBatch(run, p.ackWait(), batch, o.Hooks, handle)
		}
	}
	return nil
}

// gather waits for a first message, however big, and then a little for others.
func (p *puller) gather(ctx context.Context, o BatchOptions) []Delivery {
	var batch []Delivery
	size := 0
	take := func(d Delivery) {
		batch = append(batch, d)
		size += d.size()
	}
	// The errors are ctx's, which the loop looks at, and everything else was reported.
	_ = p.pull(ctx, 1, 0, unlike(), take)
	if len(batch) == 0 || o.MaxMessages == 1 || size >= o.MaxBytes {
		return batch
	}
	_ = p.pull(ctx, o.MaxMessages-1, o.MaxBytes-size, o.MaxWait, take)
	return batch
}

// giveBack returns what was fetched and not started to the next replica.
func giveBack(batch []Delivery, hooks Hooks) {
	for _, d := range batch {
		hooks.report(d.Subject, d.Nak(0))
	}
}

func (s *Store) handleBatch(run context.Context, ackWait time.Duration, batch []Delivery, hooks Hooks, handle func(context.Context, []Delivery) error) {
	stop := keep(ackWait, batch, hooks.report)
	defer stop()
	outcome := handle(anchored(run, batch[0].server), batch)
	if fateOf(outcome, 1).report {
		hooks.report(batch[0].Subject, outcome)
	}
	for _, d := range batch {
		f := fateOf(outcome, d.Delivered)
		if f.report { // once for the batch, above
			hooks.report(d.Subject, ignoreSettled(d.Nak(f.delay)))
			continue
		}
		hooks.report(d.Subject, ignoreSettled(s.settle(run, d, outcome)))
	}
}
