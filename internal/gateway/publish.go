package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// message is the call's row for its queue, naming the job it belongs to.
func (c *call) message(q *request) *nats.Msg {
	m := nats.NewMsg(events.RequestSubject(c.Queue, ""))
	m.Data = q.row(c.id)
	m.Header.Set(nats.MsgIdHdr, c.messageID())
	m.Header.Set(events.HeaderJob, c.Job)
	if c.Window != "" {
		m.Header.Set(events.HeaderWindow, c.Window)
	}
	return m
}

// publish stores a call's row. After a fault it is stored or not: publishing it again, for the same call, is harmless.
func (s *Service) publish(ctx context.Context, q *request, c *call) *fault {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.PublishTimeout)
	defer cancel()
	m, err := s.cfg.Bus.Fit(ctx, jetstore.StreamRequests, c.message(q), nil)
	if err == nil {
		_, err = s.cfg.Bus.Publish(ctx, m)
	}
	if err == nil {
		return nil
	}
	s.log.Warn().Err(err).Str("queue", c.Queue).Str("job", c.Job).Str("custom_id", c.id).Msg("row is not known to be stored")
	return unavailable("the bus does not take the row now; sending the same call again attaches to this one and pays once")
}

// move puts a call whose row came behind its job's seal, and was never paid for, into the job of now, and publishes it there. Another replica may
// have done so already: then its choice stands. sealed is a time of the bus that is past.
func (s *Service) move(ctx context.Context, q *request, c *call, sealed time.Time) *fault {
	s.clock.atLeast(sealed)
	moved := *c
	moved.place(q, s.clock.now(), s.cfg.Linger)
	err := s.put(ctx, &moved)
	if errors.Is(err, errTaken) {
		var theirs *call
		if theirs, err = s.get(ctx, c.group, c.id); err == nil {
			moved = *theirs
		}
	}
	if err != nil {
		s.log.Warn().Err(err).Str("queue", c.Queue).Str("job", c.Job).Str("custom_id", c.id).Msg("call is not moved to a later job")
		return unavailable("the call cannot be moved to a later job now; sending it again attaches to this one")
	}
	*c = moved
	return s.publish(ctx, q, c)
}
