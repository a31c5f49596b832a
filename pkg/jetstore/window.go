package jetstore

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// defaultInFlight is enough to be as fast as the server: beyond 256 to 1024 nothing is gained (measured).
const defaultInFlight = 512

// Ack says what became of a message of a [Window].
type Ack struct {
	Sequence uint64 // 0 when Already is set by an expectation
	Already  bool   // the message was stored before: its subject or its Nats-Msg-Id is taken
}

// Window publishes without a round trip a message: up to a number of messages are under way at once. It is not safe for
// concurrent use. It needs no closing; what is under way when it is dropped is stored or not.
type Window struct {
	store *Store
	ring  []pending // the messages under way, oldest at head
	head  int
	count int
}

// NewWindow makes a window for so many messages under way; 0 or less means 512. All of them are held in memory.
func (s *Store) NewWindow(inFlight int) *Window {
	if inFlight <= 0 {
		inFlight = defaultInFlight
	}
	return &Window{store: s, ring: make([]pending, inFlight)}
}

// Publish sends a message, and blocks only while the window is full. The message belongs to the window until settled has
// been called, in this goroutine, by this or a later call of Publish, PublishOnce or Flush; settled may be nil. What can be
// repeated is repeated until ctx ends, the same message each time, so messages may be stored in another order, and without
// an expectation or a Nats-Msg-Id twice.
//
// An error names the subject of the message it is about, which need not be m: one refused ([ErrTooBig] or other) or not
// acknowledged before the end of ctx. That message is dropped from the window and its settled is not called; m was sent
// only when the error is nil. The others stay, and Flush settles them.
func (w *Window) Publish(ctx context.Context, m *nats.Msg, settled func(Ack)) error {
	if w.count == len(w.ring) {
		if err := w.settleOldest(ctx); err != nil {
			return err
		}
	}
	p := pending{message: m, settled: settled, after: w.store.publishes(m)}
	p.send(w.store.js)
	if p.err != nil && Classify(p.err) != Again {
		p.after()
		return refusal(m.Subject, p.err)
	}
	w.ring[(w.head+w.count)%len(w.ring)] = p
	w.count++
	return nil
}

// PublishOnce is [Window.Publish] on a subject that holds no message. When one stands there already, settled gets
// Ack.Already: that is no error.
func (w *Window) PublishOnce(ctx context.Context, m *nats.Msg, settled func(Ack)) error {
	if m.Header == nil {
		m.Header = nats.Header{}
	}
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
	return w.Publish(ctx, m, settled)
}

// Flush settles every message under way and returns the first error; it goes on past refusals, so that afterwards the window
// is empty. At the end of ctx it drops what has no answer yet.
func (w *Window) Flush(ctx context.Context) error {
	var first error
	for w.count > 0 {
		err := w.settleOldest(ctx)
		if err == nil {
			continue
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			w.drop()
		}
	}
	return first
}

// drop empties the window when time is up. What the server has acknowledged by then is settled: it is stored, even when a message before it
// found no room, and would be stored a second time if nobody knew.
func (w *Window) drop() {
	for i := range w.count {
		p := &w.ring[(w.head+i)%len(w.ring)]
		ack, stored := p.acknowledged()
		p.after()
		if stored && p.settled != nil {
			p.settled(ack)
		}
	}
	clear(w.ring)
	w.head, w.count = 0, 0
}

// settleOldest waits for the oldest message and takes it out of the window.
func (w *Window) settleOldest(ctx context.Context) error {
	ack, err := w.await(ctx)
	settled := w.ring[w.head].settled
	w.ring[w.head].after()
	w.ring[w.head] = pending{}
	w.head, w.count = (w.head+1)%len(w.ring), w.count-1
	if err == nil && settled != nil {
		settled(ack)
	}
	return err
}

// await waits for the oldest message's acknowledgement, and sends it again while that can help. What was lost together,
// as with a connection, is sent again together.
func (w *Window) await(ctx context.Context) (Ack, error) {
	oldest := &w.ring[w.head]
	for pause := newPause(); ; {
		ack, err := oldest.result(ctx)
		w.store.full.heard(oldest.message.Subject, err)
		if err == nil {
			return Ack{Sequence: ack.Sequence, Already: ack.Duplicate}, nil
		}
		if Classify(err) == Already {
			return Ack{Already: true}, nil
		}
		if refused := refusal(oldest.message.Subject, err); refused != nil {
			return Ack{}, refused
		}
		if pause.wait(ctx) != nil {
			return Ack{}, outOfTime(oldest.message.Subject, err)
		}
		w.resend()
	}
}

// resend sends again every message under way that has failed and may be repeated.
func (w *Window) resend() {
	for i := range w.count {
		p := &w.ring[(w.head+i)%len(w.ring)]
		if p.failed() && Classify(p.err) == Again {
			p.send(w.store.js)
		}
	}
}

// pending is a message under way: sent, with a future, or failed, with an error.
type pending struct {
	message *nats.Msg
	settled func(Ack)
	after   func() // for the probe
	future  jetstream.PubAckFuture
	err     error
}

func (p *pending) send(js jetstream.JetStream) {
	p.future, p.err = js.PublishMsgAsync(p.message)
}

// failed looks without blocking.
func (p *pending) failed() bool {
	if p.err != nil {
		return true
	}
	select {
	case p.err = <-p.future.Err():
		return true
	default:
		return false
	}
}

// acknowledged looks without blocking.
func (p *pending) acknowledged() (Ack, bool) {
	if p.failed() {
		return Ack{Already: true}, Classify(p.err) == Already
	}
	select {
	case ack := <-p.future.Ok():
		return Ack{Sequence: ack.Sequence, Already: ack.Duplicate}, true
	default:
		return Ack{}, false
	}
}

// result blocks until the server answered, nats.go gave up (requestTimeout, or at once when the connection was lost), or
// ctx ends.
func (p *pending) result(ctx context.Context) (*jetstream.PubAck, error) {
	if p.err != nil {
		return nil, p.err
	}
	select {
	case ack := <-p.future.Ok():
		return ack, nil
	case p.err = <-p.future.Err():
		return nil, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
