package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

func cutKey(key string) (group, id string, ok bool) {
	rest, ok := strings.CutPrefix(key, "call.")
	group, id, cut := strings.Cut(rest, ".")
	return group, id, ok && cut
}

// attachTries bounds how often other replicas may be faster in a row.
const attachTries = 20

// attach finds the earlier call that q repeats, or makes a record for a new one; created says which. The call counts as held from then on: the
// caller leaves it in the end.
func (s *Service) attach(ctx context.Context, q *request) (c *call, created bool, f *fault) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.PublishTimeout)
	defer cancel()
	try := s.attachEqual
	if q.key != "" {
		try = s.attachKey
	}
	for range attachTries {
		c, created, err := try(ctx, q)
		switch {
		case err == nil:
			return c, created, nil
		case errors.Is(err, errOtherCall):
			return nil, false, &fault{
				status: http.StatusUnprocessableEntity, code: "idempotency_key_reused", final: true,
				message: "this " + headerIdempotency + " was used for another call: its url, body or window differ",
			}
		case !errors.Is(err, errTaken):
			s.log.Warn().Err(err).Str("queue", q.who.queue).Msg("call is not taken")
			return nil, false, unavailable("the bus does not take the call's record now; nothing was published")
		}
	}
	return nil, false, unavailable("other calls with the same bytes or key are being taken; nothing was published")
}

// errOtherCall is returned when an Idempotency-Key comes again with another call.
var errOtherCall = errors.New("the key was used for another call")

// attachKey is attach for a call with an Idempotency-Key, whose record has one place.
func (s *Service) attachKey(ctx context.Context, q *request) (*call, bool, error) {
	id := hashOf("idempotency", q.who.id, q.key)
	c, err := s.get(ctx, idempotent, id)
	if err == nil && !c.matches(q) {
		return nil, false, errOtherCall
	}
	switch {
	case err == nil:
		s.peers.enter(c.id)
		return c, false, nil
	case !errors.Is(err, jetstore.ErrNotFound):
		return nil, false, err
	}
	created, err := s.enter(ctx, q.opens(c, s))
	return created, true, err
}

// attachEqual is attach for a call without one.
func (s *Service) attachEqual(ctx context.Context, q *request) (*call, bool, error) {
	group := hashOf("body", q.who.id, q.who.queue, q.url, q.window, q.digest)
	all, err := s.equals(ctx, group)
	if err != nil {
		return nil, false, err
	}
	earlier, take := choose(all, q.retry, func(c *call) bool { return s.peers.open(ctx, c) })
	switch {
	case earlier == nil:
		created, err := s.enter(ctx, q.opens(&call{group: group, id: strings.ToLower(rand.Text())}, s))
		return created, true, err
	case take:
		earlier.Gateway = s.peers.name
		earlier, err = s.enter(ctx, earlier)
		return earlier, false, err
	default:
		s.peers.enter(earlier.id)
		return earlier, false, nil
	}
}

// choose picks the earlier call that an equal one attaches to; nil: none. take: it is to be taken over, so that no third one gets it as well.
// open tells whether a call's connection is still there.
//
// A call that was left without its answer is always taken over. One that says that it is a retry also attaches to one whose connection seems to
// be open, which a proxy may have kept, or to the last one that was answered: its answer was lost on the way.
func choose(all []*call, retry bool, open func(*call) bool) (earlier *call, take bool) {
	var held, answered *call
	for _, c := range all {
		switch {
		case c.AnsweredAt != nil:
			if answered == nil || c.AnsweredAt.After(*answered.AnsweredAt) {
				answered = c
			}
		case !open(c):
			return c, true
		case held == nil:
			held = c
		}
	}
	switch {
	case !retry:
		return nil, false
	case held != nil:
		return held, false
	default:
		return answered, false
	}
}

// opens fills in the record of a new call.
func (q *request) opens(c *call, s *Service) *call {
	c.record = record{
		Queue: q.who.queue, URL: q.url, Caller: q.who.id, BodySHA256: q.digest, Window: q.window, Gateway: s.peers.name, OpenedAt: time.Now().UTC(),
	}
	c.place(q, s.clock.now(), s.cfg.Linger)
	return c
}

// enter stores a record that names this replica. The call counts as held before another replica can read that, and ask.
func (s *Service) enter(ctx context.Context, c *call) (*call, error) {
	s.peers.enter(c.id)
	if err := s.put(ctx, c); err != nil {
		s.peers.leave(c.id)
		return nil, err
	}
	return c, nil
}
