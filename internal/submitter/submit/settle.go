package submit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// resultsInFlight is how many results are under way at a time; more gains nothing (performance-facts.md).
const resultsInFlight = 256

// ending is how a batch ends that the provider never ran: which places get which result, and what becomes of the others.
type ending struct {
	state     events.BatchState
	why       string
	entries   []manifest.Entry
	from, to  int // the places that are answered
	outcome   events.Outcome
	attempt   func(planned int) int // the result's attempt, from the manifest's
	fault     events.Error
	followUps []jobs.FollowUp
}

// refuse ends a batch that the provider definitely refuses for its rows: step 6.
func (d *drive) refuse(ctx context.Context, v verdict, cause error) (step, error) {
	if v.cure == cureRejectRow && d.batch.LineRefusals >= maxLineRefused {
		message := fmt.Sprintf("%d rows were refused one by one, and now line %d of the input file is", d.batch.LineRefusals, v.line)
		return step{done: true}, d.hold(ctx, events.HoldLineRefusals, message)
	}
	entries, err := manifest.Load(ctx, d.config.Bus, d.batch.Manifest)
	if err != nil {
		return d.unreadable(ctx, err)
	}
	return d.end(ctx, refusedEnding(v, entries, &d.batch.Batch, cause))
}

// refusedEnding says what a refusal means for each place. Attempts of rows that never ran stay as they are. It is pure.
func refusedEnding(v verdict, entries []manifest.Entry, b *events.Batch, cause error) ending {
	e := ending{
		state: events.BatchRefused, entries: entries, outcome: events.Rejected,
		attempt: func(planned int) int { return planned },
		fault:   events.Error{Code: events.CodeRefusedRow, Message: cut(cause.Error())},
	}
	if refusal, ok := errors.AsType[*doubleword.Error](cause); ok {
		e.fault.StatusCode = refusal.Status
		if refusal.Text != "" {
			e.fault.Message = cut(refusal.Text)
		}
	}
	switch v.cure {
	case cureRejectRow:
		e.why, e.from, e.to = "row_refused", v.line-1, v.line
		rest := slices.Concat(entries[:e.from], entries[e.to:])
		if len(rest) > 0 {
			e.followUps = []jobs.FollowUp{{Rows: rest, LineRefusals: b.LineRefusals + 1}}
		}
	default:
		e.why, e.to = "rows_refused", len(entries)
	}
	return e
}

// endCancelled ends a batch of a cancelled job that the provider does not have.
func (d *drive) endCancelled(ctx context.Context) (step, error) {
	entries, err := manifest.Load(ctx, d.config.Bus, d.batch.Manifest)
	if err != nil {
		return d.unreadable(ctx, err)
	}
	return d.end(ctx, cancelledEnding(entries, events.BatchCancelled, "job_cancelled", false))
}

// cancelledEnding ends all rows as cancelled. sent: the provider had them, so this try was made.
func cancelledEnding(entries []manifest.Entry, state events.BatchState, why string, sent bool) ending {
	e := ending{
		state: state, why: why, entries: entries, to: len(entries), outcome: events.Cancelled,
		attempt: func(planned int) int { return planned - 1 },
		fault: events.Error{
			Code: events.CodeCancelled, Message: "the job was cancelled before the row was sent", Retryable: true,
		},
	}
	if sent {
		e.attempt = func(planned int) int { return planned }
		e.fault.Message = "the job was cancelled and its batch given up before the row had an answer"
	}
	return e
}

// end stores the results and then makes the settle publish: a place is settled only after its result is stored.
func (d *drive) end(ctx context.Context, e ending) (step, error) {
	cursor, err := d.config.Jobs.Cursor(ctx, &d.batch)
	if err != nil {
		return step{}, err
	}
	stood, err := d.answer(ctx, e)
	if err != nil {
		return d.unreadable(ctx, err)
	}
	for place := e.from; place < e.to; place++ {
		if !cursor.Settled.Has(place) {
			cursor.Settled.Set(place)
			if err := d.count(ctx, &cursor.Totals, e.outcome, stood[place]); err != nil {
				return step{}, err
			}
		}
	}
	return d.settle(ctx, jobs.Settlement{
		Batch: &d.batch, Cursor: &cursor, State: e.state, Why: e.why, FollowUps: e.followUps,
	})
}

// settle makes the settle publish, and completes the job if that was its last batch.
func (d *drive) settle(ctx context.Context, s jobs.Settlement) (step, error) {
	fileID := d.batch.FileID
	if err := d.config.Jobs.Settle(ctx, d.config.Bus, s); err != nil {
		return d.unreadable(ctx, err)
	}
	d.log.Info().Str("state", string(s.State)).Str("why", s.Why).Int("answered", s.Cursor.Totals.Rows).Msg("batch ended")
	d.dropFile(ctx, fileID)
	_, err := d.config.Jobs.Complete(ctx, d.batch.Queue, d.batch.Job)
	return step{}, err
}

// answer publishes the result of every place that gets one. One that stands already is as good, whatever it says: a row has one result, for
// ever. Their subjects are returned, by place.
func (d *drive) answer(ctx context.Context, e ending) (stood map[int]string, err error) {
	window := d.config.Bus.NewWindow(resultsInFlight)
	chosen, stood := e.entries[e.from:e.to], map[int]string{}
	for row, err := range manifest.Rows(ctx, d.config.Bus, d.batch.Queue, d.batch.Job, chosen) {
		if err != nil {
			return nil, err
		}
		m, err := d.message(ctx, e, row, &chosen[row.Place])
		if err != nil {
			return nil, err
		}
		err = window.PublishOnce(ctx, m, func(ack jetstore.Ack) {
			d.config.Observe.Result(e.outcome, ack)
			if ack.Already {
				stood[e.from+row.Place] = m.Subject
			}
		})
		if err != nil {
			return nil, fmt.Errorf("publish result: %w", err)
		}
	}
	if err := window.Flush(ctx); err != nil {
		return nil, fmt.Errorf("publish results: %w", err)
	}
	return stood, nil
}

// count adds a row to the totals by the result that stands on the subject, or by the outcome when this process has just published it.
func (d *drive) count(ctx context.Context, totals *events.Totals, outcome events.Outcome, subject string) error {
	if subject == "" {
		totals.Count(outcome, false, events.Usage{})
		return nil
	}
	standing, err := messages.Standing(ctx, d.config.Bus, subject)
	if errors.Is(err, jetstore.ErrNotFound) { // too old: ours is as good
		standing, err = events.Result{Outcome: outcome}, nil
	}
	if err != nil {
		return err
	}
	totals.CountResult(&standing)
	return nil
}

func (d *drive) message(ctx context.Context, e ending, row manifest.Placed, planned *manifest.Entry) (*nats.Msg, error) {
	fault := e.fault
	fault.Line = row.Line
	result := events.Result{
		CustomID: row.CustomID, Queue: d.batch.Queue, Job: d.batch.Job, Outcome: e.outcome, Error: &fault,
		Batch: d.batch.N, Attempt: e.attempt(planned.Attempt), CompletedAt: time.Now(),
	}
	m := messages.Result(&result, planned.Source)
	return d.config.Bus.Fit(ctx, jetstore.StreamResults, m, messages.ResultEnvelope(&result))
}

// unreadable is a batch whose rows cannot be read or answered: a hold where waiting does not help.
func (d *drive) unreadable(ctx context.Context, err error) (step, error) {
	switch {
	case jobs.IsConflict(err), isUnknown(err), ctx.Err() != nil:
		return step{}, err
	case errors.Is(err, manifest.ErrRowsGone):
		return step{done: true}, d.hold(ctx, events.HoldRowsOlder, err.Error())
	case errors.Is(err, manifest.ErrCorrupt), errors.Is(err, jetstore.ErrDigest):
		return step{done: true}, d.hold(ctx, events.HoldManifestMissing, err.Error())
	case errors.Is(err, jetstore.ErrObjectMissing) && d.memory.failures >= objectMisses:
		return step{done: true}, d.hold(ctx, events.HoldManifestMissing, err.Error())
	case errors.Is(err, jetstore.ErrObjectMissing):
		return d.failed(ctx, "object_missing", err)
	case errors.Is(err, jetstore.ErrTooBig), jetstore.Classify(err) == jetstore.Refused:
		return step{done: true}, d.hold(ctx, events.HoldPublish, err.Error())
	}
	return step{}, err
}
