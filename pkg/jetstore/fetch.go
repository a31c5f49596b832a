package jetstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// fetchWait is how long one pull waits for a first message. A loop therefore notices the end of its ctx at once, and a
// consumer that moved to another leader within this time; nats.go's Consume was seen to stall 30 s there.
const fetchWait = 5 * time.Second

// unlike is a wait of about [fetchWait], each time another one. What a slow server sends in the last moment of a pull can be lost, until its
// AckWait ends; with pulls of one length, a message that comes at equal intervals could meet that moment each time.
func unlike() time.Duration {
	return fetchWait - rand.N(fetchWait/4) //nolint:gosec // spreads, guards nothing
}

// Hooks are what a consume loop tells its owner; the package itself never logs. Both may be nil and may be called from
// several goroutines.
type Hooks struct {
	// OnError hears what a handler failed with, with the message's subject, and what the loop itself could not do, with an
	// empty one. The loop goes on by itself.
	OnError func(subject string, err error)
	// Beat is called at each round of the loop, at least every 10 s while the server answers, for a liveness check.
	Beat func()
	// Answered hears of each message once, when its answer was sent: which, and how many times it had been delivered by then.
	Answered func(answer Answer, delivered int)
}

// Answer is what a consumer said about a message.
type Answer string

// The answers.
const (
	Acked      Answer = "ack"  // done
	GivenBack  Answer = "nak"  // again later
	Terminated Answer = "term" // never again: its dead letter is stored
)

func (h Hooks) answered(answer Answer, delivered int) {
	if h.Answered != nil {
		h.Answered(answer, delivered)
	}
}

func (h Hooks) report(subject string, err error) {
	if err != nil && h.OnError != nil {
		h.OnError(subject, err)
	}
}

func (h Hooks) beat() {
	if h.Beat != nil {
		h.Beat()
	}
}

// puller pulls from one durable consumer and binds to it anew after every error: it may have moved, or been made anew.
type puller struct {
	store            *Store
	stream, consumer string
	hooks            Hooks
	bound            jetstream.Consumer // nil: to be looked up
	lastWait         time.Duration      // the ack wait of the last one bound
	pause            *pauses
	lookedAt         time.Time // when leftovers were looked for last
}

func (s *Store) newPuller(stream, consumer string, hooks Hooks) *puller {
	return &puller{store: s, stream: stream, consumer: consumer, hooks: hooks, pause: newPause()}
}

// bind returns the consumer, waiting for it until ctx ends.
func (p *puller) bind(ctx context.Context) (jetstream.Consumer, error) {
	for p.bound == nil {
		p.hooks.beat()
		bound, err := p.lookup(ctx)
		if err == nil {
			p.bound, p.lastWait = bound, bound.CachedInfo().Config.AckWait
			break
		}
		p.failed(ctx, err)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return p.bound, nil
}

func (p *puller) lookup(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	bound, err := p.store.js.Consumer(ctx, p.stream, p.consumer)
	if err != nil {
		return nil, fmt.Errorf("look up consumer: %w", err)
	}
	return bound, nil
}

// failed reports, drops the binding and waits a little, unless ctx has ended: a shutdown is no failure.
func (p *puller) failed(ctx context.Context, err error) {
	p.bound = nil
	if ctx.Err() != nil {
		return
	}
	p.hooks.report("", fmt.Errorf("consume %s of %s: %w", p.consumer, p.stream, err))
	_ = p.pause.wait(ctx) // the callers look at ctx themselves
}

// ackWait is that of the consumer that was bound last: messages outlive a binding that failed behind them.
func (p *puller) ackWait() time.Duration { return orDefault(p.lastWait, 30*time.Second) }

// pull fetches up to n messages and calls take for each as it arrives. It returns when they are there, wait is over or ctx
// has ended; then what had arrived is still passed on.
func (p *puller) pull(ctx context.Context, n, maxBytes int, wait time.Duration, take func(Delivery)) error {
	consumer, err := p.bind(ctx)
	if err != nil {
		return err
	}
	server := p.store.nc.ConnectedServerId()
	options := []jetstream.FetchOpt{jetstream.FetchContext(until(ctx, wait))}
	if maxBytes > 0 {
		options = append(options, jetstream.FetchMaxBytes(maxBytes))
	}
	batch, err := consumer.Fetch(n, options...)
	if err != nil {
		p.failed(ctx, err)
		return ctx.Err()
	}
	for m := range batch.Messages() {
		d, err := p.deliveryOf(m, server)
		if err != nil {
			p.hooks.report(m.Subject(), err)
			continue
		}
		take(d)
	}
	if err := batch.Error(); err != nil && !over(err) {
		p.failed(ctx, err)
		return ctx.Err()
	}
	p.pause = newPause()
	return ctx.Err()
}

// serverSide is a context for nats.go's FetchContext, which asks the server to end the pull nine tenths of the way to the deadline and
// itself stops listening at Done. With Done at the deadline, what the server sent in its last moment would be lost on a busy
// machine, until its AckWait ends; so Done is the parent's, and the pull ends by the server's word (or nats.go's own limit, 1 s
// later).
type serverSide struct {
	context.Context //nolint:containedctx // it is one
	deadline        time.Time
}

// Deadline is what the server hears.
func (c serverSide) Deadline() (time.Time, bool) { return c.deadline, true }

// until makes a pull of which the server hears that it ends after wait.
func until(ctx context.Context, wait time.Duration) context.Context {
	return serverSide{ctx, time.Now().Add(wait + min(wait/9, time.Second))}
}

// over are the ways in which a pull ends that are no failure.
func over(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, jetstream.ErrMaxBytesExceeded)
}

// outlive is a context for handlers: it goes on after ctx has ended, for the drain timeout. Call stop when the last
// handler is done.
func outlive(ctx context.Context, drain time.Duration) (run context.Context, stop func()) {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(drain)
		defer timer.Stop()
		select {
		case <-run.Done():
		case <-timer.C:
			cancel()
		}
	})
	return run, func() { unhook(); cancel() }
}

// keep sends InProgress for deliveries every third of the AckWait until it is stopped; stop waits for its end.
func keep(ackWait time.Duration, deliveries []Delivery, report func(string, error)) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(max(ackWait/3, 10*time.Millisecond))
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			for _, d := range deliveries {
				report(d.Subject, ignoreSettled(d.InProgress()))
			}
		}
	}()
	return func() { close(done); <-ended }
}
