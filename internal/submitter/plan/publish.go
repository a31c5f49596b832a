package plan

import (
	"context"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// publish sends what the verdict calls for into the window. Whoever publishes the same again meets what is there.
func (s *session) publish(ctx context.Context, m *jetstore.Message, e *block.Entry, v verdict, first *head) error {
	switch v.do {
	case reject:
		return s.result(ctx, e, events.Rejected, &events.Error{
			Code: v.fault.Code, Message: v.fault.Message, Hint: v.fault.Hint, Line: e.Line, Column: v.fault.Column,
		})
	case revoke:
		return s.result(ctx, e, events.Cancelled, &events.Error{
			Code: events.CodeCancelled, Message: "the job was cancelled before the row ran", Retryable: true,
		})
	case bury:
		return s.letter(ctx, m, e, v, first)
	default:
		return nil
	}
}

func (s *session) result(ctx context.Context, e *block.Entry, outcome events.Outcome, why *events.Error) error {
	r := &events.Result{
		CustomID: e.CustomID, Queue: s.job.Queue, Job: s.job.Name(), Outcome: outcome, Error: why, CompletedAt: time.Now().UTC(),
	}
	m, err := s.fit.Fit(ctx, jetstore.StreamResults, messages.Result(r, e.Source), messages.ResultEnvelope(r))
	if err != nil {
		return fmt.Errorf("fit %s result: %w", outcome, err)
	}
	return s.window.PublishOnce(ctx, m, func(ack jetstore.Ack) { s.observe.Result(outcome, ack) })
}

func (s *session) letter(ctx context.Context, m *jetstore.Message, e *block.Entry, v verdict, first *head) error {
	payload, err := manifest.Original(ctx, s.rows, m, e)
	if err != nil {
		return err
	}
	d := &events.DeadLetter{
		Code: v.fault.Code, Message: v.fault.Message, Hint: v.fault.Hint, Column: v.fault.Column,
		CustomID: e.CustomID, Queue: s.job.Queue, Job: s.job.Name(), Source: e.Source.String(),
		Subject: requestSubject(s.job.Queue, s.job.Name()), Sequence: e.Sequence, Line: e.Line,
		At: time.Now().UTC(), Payload: payload, First: v.seal,
	}
	if v.owner != nil {
		d.First = &first.origin
	}
	out, err := s.fit.Fit(ctx, jetstore.StreamDeadletters, messages.DeadLetter(d), messages.DeadLetterEnvelope(d))
	if err != nil {
		return fmt.Errorf("fit dead letter: %w", err)
	}
	return s.window.PublishOnce(ctx, out, func(ack jetstore.Ack) { s.observe.DeadLetter(d.Code, ack) })
}

// requestSubject is where a job's rows were published: those of a rolling job on their queue's own subject.
func requestSubject(queue, job string) string {
	if events.IsRolling(job) {
		job = ""
	}
	return events.RequestSubject(queue, job)
}
