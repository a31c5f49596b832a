package jetstore

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Publish stores a message and returns its sequence. It blocks, and repeats what can be repeated, until the server has
// acknowledged or ctx ends. Without a Nats-Msg-Id or an expectation a repetition after a lost reply can store the message
// twice. The headers that opts ask for are added to m.
//
// [ErrExists], [ErrTooBig] and other refusals: nothing was stored. After the end of ctx: stored or not; a [*FullError] says that the bus has
// no room.
func (s *Store) Publish(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (uint64, error) {
	defer s.publishes(m)()
	for pause := newPause(); ; {
		ack, err := s.publishOnce(ctx, m, opts)
		s.full.heard(m.Subject, err)
		if err == nil {
			return ack.Sequence, nil
		}
		if refused := refusal(m.Subject, err); refused != nil {
			return 0, refused
		}
		if pause.wait(ctx) != nil {
			return 0, outOfTime(m.Subject, err)
		}
	}
}

func (s *Store) publishOnce(ctx context.Context, m *nats.Msg, opts []jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if err := s.holds(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return s.js.PublishMsg(ctx, m, opts...) //nolint:wrapcheck // one try; Publish judges and wraps its error
}

// PublishOnce is [Store.Publish] on a subject that holds no message: however often it is called, one message is stored.
// [ErrExists] when one stands there already, which can be this very one, stored by a try whose reply was lost.
func (s *Store) PublishOnce(ctx context.Context, m *nats.Msg) (uint64, error) {
	return s.Publish(ctx, m, jetstream.WithExpectLastSequencePerSubject(0))
}

// refusal is the error of an outcome that no repetition changes, and nil for Again.
func refusal(subject string, err error) error {
	switch Classify(err) {
	case Already:
		return fmt.Errorf("publish %s: %w", subject, ErrExists)
	case TooBig:
		return fmt.Errorf("publish %s: %w: %w", subject, ErrTooBig, err)
	case Refused:
		return fmt.Errorf("publish %s: %w", subject, err)
	default:
		return nil
	}
}
