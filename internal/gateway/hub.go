package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const (
	// tailInterval is how often a stream is read whether or not anybody has said that there is something new.
	tailInterval = 5 * time.Second
	// tailPause is between two reads, so that a flood of hints is one read.
	tailPause = 50 * time.Millisecond
)

// hub wakes whoever waits for what becomes of a row. It has one reader a queue and stream, however many wait. It is safe for concurrent use.
type hub struct {
	bus  *jetstore.Store
	conn *nats.Conn
	log  zerolog.Logger

	mu      sync.Mutex
	waiting map[string][]*waiter // by the subject of the result, and of the dead letter
	tails   map[string]*tail     // by filter
	fresh   chan *tail           // to be started
}

func newHub(c *Config) *hub {
	return &hub{bus: c.Bus, conn: c.Conn, log: c.Log, waiting: make(map[string][]*waiter), tails: make(map[string]*tail), fresh: make(chan *tail)}
}

// waiter is woken when its row may have ended: there is something on one of its subjects.
type waiter struct {
	hub      *hub
	subjects [2]string
	woken    chan struct{}
}

// watch returns a waiter for a call's row once whatever is stored from now on wakes it; what was stored before does not, so look first. Close it.
func (h *hub) watch(ctx context.Context, c *call) (*waiter, error) {
	w := &waiter{hub: h, woken: make(chan struct{}, 1), subjects: [2]string{c.resultSubject(), c.letterSubject()}}
	h.mu.Lock()
	for _, subject := range w.subjects {
		h.waiting[subject] = append(h.waiting[subject], w)
	}
	h.mu.Unlock()
	for stream, prefix := range map[string]string{
		jetstore.StreamResults: events.PrefixResults, jetstore.StreamDeadletters: events.PrefixDeadletters,
	} {
		if err := h.begin(ctx, stream, prefix+c.Queue+".*.*"); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

// run starts readers until ctx ends; wait for their end by what it returns.
func (h *hub) run(ctx context.Context) (wait func()) {
	var running sync.WaitGroup
	running.Go(func() {
		started := make(map[*tail]bool)
		for {
			select {
			case <-ctx.Done():
				return
			case t := <-h.fresh:
				if !started[t] {
					started[t] = true
					running.Go(func() { t.run(ctx) })
				}
			}
		}
	})
	return running.Wait
}

// begin returns once a reader of the filter has begun.
func (h *hub) begin(ctx context.Context, stream, filter string) error {
	h.mu.Lock()
	t, ok := h.tails[filter]
	if !ok {
		t = &tail{hub: h, stream: stream, filter: filter, begun: make(chan struct{}), hints: make(chan struct{}, 1)}
		h.tails[filter] = t
	}
	h.mu.Unlock()
	for fresh := h.fresh; ; {
		select {
		case fresh <- t: // whoever comes first: one that made a reader may be gone before it is started
			fresh = nil
		case <-t.begun:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *call) resultSubject() string { return events.ResultSubject(c.Queue, c.Job, c.id) }

func (c *call) letterSubject() string { return events.DeadletterSubject(c.Queue, c.Job, c.Source) }

// close forgets the waiter.
func (w *waiter) close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for _, subject := range w.subjects {
		var others []*waiter
		for _, other := range w.hub.waiting[subject] {
			if other != w {
				others = append(others, other)
			}
		}
		if w.hub.waiting[subject] = others; len(others) == 0 {
			delete(w.hub.waiting, subject)
		}
	}
}

func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// wake wakes who waits for the subject; all of them when it is empty.
func (h *hub) wake(subject string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if subject != "" {
		for _, w := range h.waiting[subject] {
			w.wake()
		}
		return
	}
	for _, all := range h.waiting {
		for _, w := range all {
			w.wake()
		}
	}
}

// tail reads a stream from where it stood when the tail began. What tells of new messages at once is a subscription, whose messages are only
// hints: they may be refused by the stream yet, and a lost connection may silence them.
type tail struct {
	hub            *hub
	stream, filter string
	begun          chan struct{}
	hints          chan struct{}
	next           uint64 // everything below was read
}

// run reads until ctx ends.
func (t *tail) run(ctx context.Context) {
	hint := func(*nats.Msg) {
		select {
		case t.hints <- struct{}{}:
		default:
		}
	}
	if subscription, err := t.hub.conn.Subscribe(t.filter, hint); err == nil {
		defer func() { _ = subscription.Unsubscribe() }() // fails with the connection only
	} else {
		t.hub.log.Warn().Err(err).Str("filter", t.filter).Msg("no hints of new results: they are looked for every some seconds")
	}
	for begun := false; ctx.Err() == nil; {
		if err := t.read(ctx); err != nil && ctx.Err() == nil {
			t.hub.log.Warn().Err(err).Str("filter", t.filter).Msg("reading is cut short and begun anew")
		} else if !begun && err == nil {
			begun = true
			close(t.begun)
		}
		t.pause(ctx)
	}
}

// pause waits for a hint, but a moment at least, and not too long.
func (t *tail) pause(ctx context.Context) {
	timer := time.NewTimer(tailInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
		return
	case <-t.hints:
	}
	timer.Reset(tailPause)
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// read wakes those whose messages have come. The first time it only looks where the stream stands. A stream that is shorter than it was has been
// restored: nobody knows what is in it, and everybody looks.
func (t *tail) read(ctx context.Context) error {
	last, err := t.hub.bus.Last(ctx, t.stream, t.filter)
	if err != nil && !errors.Is(err, jetstore.ErrNotFound) {
		return err
	}
	switch {
	case t.next == 0:
		t.next = last.Sequence + 1
		return nil
	case last.Sequence+1 < t.next:
		t.next = last.Sequence + 1
		t.hub.wake("")
		return nil
	}
	for m, err := range t.hub.bus.Read(ctx, t.stream, t.filter, t.next) {
		if err != nil {
			return err
		}
		t.next = m.Sequence + 1
		t.hub.wake(m.Subject)
	}
	return nil
}
