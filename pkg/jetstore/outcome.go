package jetstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// RefusedError is a handler's word that its message will never succeed. Letter is published, once on its subject, and only
// when it is stored the message is terminated.
type RefusedError struct {
	Letter *nats.Msg // the dead letter: subject, headers, payload
	Reason string    // for the error text
}

// Error names the reason and the dead letter's subject.
func (e *RefusedError) Error() string {
	return "refused: " + e.Reason + ", see " + e.Letter.Subject
}

// Refuse is the handler outcome "never": see [RefusedError].
func Refuse(letter *nats.Msg, reason string) error {
	return &RefusedError{Letter: letter, Reason: reason}
}

type laterError struct {
	delay time.Duration
	err   error
}

func (e *laterError) Error() string {
	return fmt.Sprintf("again in %s: %v", e.delay, e.err)
}

func (e *laterError) Unwrap() error { return e.err }

// Later is the handler outcome "not now": the message comes again after the delay. It is no failure, so EachOptions.OnError
// does not hear of it. The error is the reason and may be nil.
func Later(delay time.Duration, err error) error {
	return &laterError{delay: delay, err: err}
}

// fate is what a handler's outcome means for its message.
type fate struct {
	ack    bool
	delay  time.Duration // of the nak, when neither ack nor letter
	letter *nats.Msg
	report bool // the outcome is a failure that somebody should hear of
}

// fateOf is the one place that maps a handler's outcome to ack, delayed nak or dead letter.
//
//	nil             ack
//	Later           nak with its delay
//	*RefusedError   dead letter, then term
//	other           nak with a delay that grows with the deliveries, and OnError
func fateOf(outcome error, delivered int) fate {
	if outcome == nil {
		return fate{ack: true}
	}
	if later, ok := errors.AsType[*laterError](outcome); ok {
		return fate{delay: later.delay}
	}
	if refused, ok := errors.AsType[*RefusedError](outcome); ok {
		return fate{letter: refused.Letter}
	}
	return fate{delay: nakDelay(delivered), report: true}
}

// nakDelay doubles from 1 s at the first delivery to 1 min.
func nakDelay(delivered int) time.Duration {
	return min(time.Second<<min(max(delivered-1, 0), 6), time.Minute)
}

// settle carries an outcome out. A dead letter that stands already is as good as stored. When it cannot be stored the
// message is given back.
func (s *Store) settle(ctx context.Context, d Delivery, outcome error) error {
	f := fateOf(outcome, d.Delivered)
	switch {
	case f.ack:
		return d.Ack()
	case f.letter == nil:
		return reported(f, outcome, d.Nak(f.delay))
	}
	_, err := s.PublishOnce(ctx, f.letter)
	if err != nil && !errors.Is(err, ErrExists) {
		return errors.Join(fmt.Errorf("store dead letter: %w", err), d.Nak(nakDelay(d.Delivered)))
	}
	return d.term()
}

// reported adds the outcome to what OnError hears, when it is a failure.
func reported(f fate, outcome, err error) error {
	if !f.report {
		return err
	}
	return errors.Join(outcome, err)
}

// ignoreSettled drops the error of answering a message that its handler has answered itself.
func ignoreSettled(err error) error {
	if errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		return nil
	}
	return err
}
