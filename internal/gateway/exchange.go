package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const (
	// keptBody is how many bytes of a call's body stay in memory after its row is published, for keptFor, in case the row came too late for its
	// job and has to be published for a later one. Whoever sent a larger one is asked to send it again then.
	keptBody = 16 << 10
	keptFor  = 30 * time.Second
	// lookPause is when a result is looked for again that could not be read.
	lookPause = time.Second
)

// exchange is one HTTP call under way, and the call whose result it waits for: its own, or an earlier one.
type exchange struct {
	s   *Service
	r   *http.Request
	out *answer
	q   *request
	c   *call

	unread func() // gives back the room of the body; see [Service.room]
}

// run takes the call and answers it. It returns the answer that no model gave, if it comes to one.
func (x *exchange) run(url string) *fault {
	who, f := x.s.authenticate(x.r)
	if f != nil {
		return f
	}
	if x.unread, f = x.s.makeRoom(x.r); f != nil {
		return f
	}
	defer func() { x.unread() }()
	if x.q, f = x.s.read(x.out.w, x.r, who, url); f != nil {
		return f
	}
	x.out.streams, x.out.keepAlive = x.q.streams, x.q.keepAlive
	c, created, f := x.s.attach(context.WithoutCancel(x.r.Context()), x.q)
	if f != nil {
		return f
	}
	defer x.s.peers.leave(c.id)
	x.c = c
	x.out.about(c, !created)
	x.s.cfg.Metrics.attached(!created)
	if created {
		x.s.checkClock(x.r.Context(), c)
	}
	return x.settle(created)
}

// settle follows the call's row, into a later job if need be, until the caller is answered or has gone.
func (x *exchange) settle(unpublished bool) *fault {
	for {
		w, err := x.s.hub.watch(x.r.Context(), x.c)
		if err != nil {
			return unavailable("the gateway cannot read results now; sending the same call again attaches to this one")
		}
		sealed, f := x.follow(w, unpublished)
		w.close()
		if f != nil || sealed.IsZero() {
			return f
		}
		if x.q.body == nil {
			return &fault{
				status: http.StatusServiceUnavailable, code: events.DLJobSealed, retryAfter: retryPause,
				message: "the row came too late for its job and was not paid for; send the call again",
			}
		}
		if f := x.s.move(context.WithoutCancel(x.r.Context()), x.q, x.c, sealed); f != nil {
			return f
		}
		x.out.about(x.c, true)
		unpublished = false
	}
}

// follow publishes the row if it may not be there, and waits for what becomes of it. sealed is not zero when the row came behind the seal of its
// job, and then is a time of the bus.
func (x *exchange) follow(w *waiter, unpublished bool) (sealed time.Time, f *fault) {
	if !unpublished { // it may have ended, or have been published by a replica that is gone
		done, sealed, err := x.look()
		if err != nil {
			return sealed, unavailable("the bus does not answer now; sending the same call again attaches to this one")
		}
		if done || !sealed.IsZero() {
			return sealed, nil
		}
	}
	if x.q.body != nil {
		if f := x.s.publish(context.WithoutCancel(x.r.Context()), x.q, x.c); f != nil {
			return sealed, f
		}
	}
	x.unread()
	if len(x.q.body) > keptBody {
		x.q.body = nil
	}
	return x.wait(w)
}

// wait blocks until the row has ended, the caller has gone or wants a handle, or the gateway stops.
func (x *exchange) wait(w *waiter) (sealed time.Time, f *fault) {
	beat := time.NewTicker(x.s.cfg.KeepAlive)
	defer beat.Stop()
	kept := time.NewTimer(keptFor)
	defer kept.Stop()
	patience, stop := after(x.q.patience)
	defer stop()
	for {
		select {
		case <-w.woken:
			done, sealed, err := x.look()
			if done || !sealed.IsZero() {
				return sealed, nil
			}
			if err != nil { // the bus is away: the call goes on
				time.AfterFunc(lookPause, w.wake)
			}
		case <-beat.C:
			x.out.beat()
		case <-kept.C:
			x.q.body = nil
		case <-patience:
			return sealed, x.hand()
		case <-x.s.draining:
			return sealed, unavailable("the gateway restarts; sending the same call again attaches to this one")
		case <-x.r.Context().Done():
			return sealed, nil
		}
	}
}

// after is a channel that is ready after d, never when d is negative.
func after(d time.Duration) (<-chan time.Time, func()) {
	if d < 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}

// look answers the caller if the row has ended. sealed is as in follow. After an error nothing is known, and the caller was told nothing.
func (x *exchange) look() (done bool, sealed time.Time, err error) {
	ctx, cancel := context.WithTimeout(x.r.Context(), x.s.cfg.PublishTimeout)
	defer cancel()
	defer func() {
		if err != nil && x.r.Context().Err() == nil {
			x.s.log.Warn().Err(err).Str("queue", x.c.Queue).Str("job", x.c.Job).Str("custom_id", x.c.id).Msg("result is not read")
		}
	}()
	result, release, err := x.s.result(ctx, x.c)
	if err == nil {
		defer release()
		x.deliver(result)
		return true, sealed, nil
	}
	if !errors.Is(err, jetstore.ErrNotFound) {
		return false, sealed, err
	}
	m, err := x.s.cfg.Bus.Last(ctx, jetstore.StreamDeadletters, x.c.letterSubject())
	switch {
	case errors.Is(err, jetstore.ErrNotFound):
		return false, sealed, nil
	case err != nil:
		return false, sealed, err
	case neverRan(m.Header.Get(events.HeaderCode)):
		return false, m.At, nil
	}
	x.out.fault(refusalOf(&m))
	x.answered(false)
	return true, sealed, nil
}

// neverRan tells whether a dead letter with the code says no more than that the row belongs into a later job.
func neverRan(code string) bool { return code == events.DLJobSealed || code == events.DLJobFull }
