package jetstore

import (
	"context"
	"sync"
	"time"
)

// defaultDrain is how long handlers may go on after the end of a loop's ctx: below the 30 s that process supervisors
// commonly give before they kill.
const defaultDrain = 20 * time.Second

// EachOptions are the settings of [Store.Each]; the zero value is usable.
type EachOptions struct {
	// Workers is how many messages are handled at once, and the most that are fetched. Default 1.
	Workers int
	// Aside is how many handlers beside those may have left their workers, see [Delivery.Leave]. Default 0.
	Aside int
	// DrainTimeout is how long handlers may go on after ctx has ended, before their own ctx ends too. Default 20 s.
	DrainTimeout time.Duration
	// Hooks hears errors and gives signs of life.
	Hooks
}

// Each gives every message of a durable consumer to handle, several at once, until ctx ends; then it waits for the
// handlers that run, and returns nil: a shutdown is no failure. The error is reserved; today it always is nil.
//
// What handle returns decides: nil acks the message, [Later] gives it back for a while, [Refuse] stores a dead letter and
// then terminates it, any other error gives it back for 1 s, doubling with each delivery up to 1 min. While handle runs,
// the message is kept from others. The message can still be delivered twice (a lost ack, a paused process): handle must
// be idempotent. It survives a restart, a leader change and the deletion of the consumer by binding anew for ever.
func (s *Store) Each(ctx context.Context, stream, consumer string, o EachOptions, handle func(context.Context, Delivery) error) error {
	workers := max(o.Workers, 1)
	run, stop := outlive(ctx, orDefault(o.DrainTimeout, defaultDrain))
	defer stop()
	e := each{store: s, puller: s.newPuller(stream, consumer, o.Hooks), slots: make(chan struct{}, workers), aside: make(chan struct{}, max(o.Aside, 0)), handle: handle}
	defer e.running.Wait()
	for ctx.Err() == nil {
		e.round(ctx, run)
	}
	return nil
}

type each struct {
	store   *Store
	puller  *puller
	slots   chan struct{}
	aside   chan struct{}
	running sync.WaitGroup
	handle  func(context.Context, Delivery) error
}

// round waits for a free worker and fetches as many messages as there are.
func (e *each) round(ctx, run context.Context) {
	free := e.reserve(ctx)
	if free == 0 {
		return
	}
	used := 0
	// The error is ctx's, which the loop looks at, and everything else was reported.
	_ = e.puller.pull(ctx, free, 0, unlike(), func(d Delivery) {
		if ctx.Err() != nil {
			e.puller.hooks.report(d.Subject, d.Nak(0)) // fetched, not started: the next replica's
			return
		}
		used++
		e.start(run, d)
	})
	for range free - used {
		<-e.slots
	}
}

// reserve takes all free workers, at least one, and returns how many; 0 when ctx has ended. While all are busy it goes on
// giving signs of life.
func (e *each) reserve(ctx context.Context) int {
	tick := time.NewTicker(fetchWait)
	defer tick.Stop()
	for taken := false; !taken; {
		e.puller.hooks.beat()
		select {
		case e.slots <- struct{}{}:
			taken = true
		case <-tick.C:
		case <-ctx.Done():
			return 0
		}
	}
	for n := 1; ; n++ {
		select {
		case e.slots <- struct{}{}:
		default:
			return n
		}
	}
}

func (e *each) start(run context.Context, d Delivery) {
	hooks, ackWait := e.puller.hooks, e.puller.ackWait()
	e.running.Go(func() {
		worker := &worker{slots: e.slots, aside: e.aside}
		defer worker.free()
		d.worker = worker
		stop := keep(ackWait, []Delivery{d}, hooks.report)
		outcome := e.handle(anchored(run, d.server), d)
		err := e.store.settle(run, d, outcome)
		stop()
		hooks.report(d.Subject, ignoreSettled(err))
	})
}
