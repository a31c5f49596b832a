package submit

import (
	"context"
	"errors"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// maxErrorText bounds last errors and the provider's words in results (design.md section 4).
const maxErrorText = 1 << 10

// enter changes the batch's state. What it waited for is over. Errors are those of [jobs.Store.Commit].
func (d *drive) enter(
	ctx context.Context, state events.BatchState, set func(*events.Batch, time.Time), kinds ...events.Kind,
) error {
	return d.enterWith(ctx, state, set, func(*jobs.Change) {}, kinds...)
}

// enterWith is enter, together with other states.
func (d *drive) enterWith(
	ctx context.Context, state events.BatchState, set func(*events.Batch, time.Time), with func(*jobs.Change), kinds ...events.Kind,
) error {
	seenAt := time.Now()
	err := d.changeWith(ctx, func(b *events.Batch, at time.Time) {
		b.State, b.SinceAt = state, at
		b.Why, b.NextTryAt, b.LastError, b.Hold, b.Shortage = "", nil, "", nil, nil
		set(b, at)
	}, with, kinds...)
	if err == nil {
		d.memory.entered(&d.batch, seenAt)
	}
	return err
}

// note changes what the batch says of itself, its state being the same: the waits that began with the state go on.
func (d *drive) note(ctx context.Context, set func(*events.Batch, time.Time), kinds ...events.Kind) error {
	err := d.change(ctx, set, kinds...)
	if err == nil {
		d.memory.noted(&d.batch)
	}
	return err
}

func (d *drive) change(ctx context.Context, set func(*events.Batch, time.Time), kinds ...events.Kind) error {
	return d.changeWith(ctx, set, func(*jobs.Change) {}, kinds...)
}

func (d *drive) changeWith(
	ctx context.Context, set func(*events.Batch, time.Time), with func(*jobs.Change), kinds ...events.Kind,
) error {
	c := jobs.NewChange(time.Now())
	next := d.batch
	set(&next.Batch, c.At())
	c.Batch(&next, kinds...)
	with(c)
	if err := d.config.Jobs.Commit(ctx, c); err != nil {
		return err
	}
	d.batch = next
	d.listed, d.listing = false, nil
	return nil
}

// tell publishes an event of the batch without changing it. One kind is told once for each revision.
func (d *drive) tell(ctx context.Context, kind events.Kind, text string) error {
	c := jobs.NewChange(time.Now())
	c.BatchEvent(&d.batch, kind, text)
	if err := d.config.Jobs.Commit(ctx, c); err != nil && !jobs.IsConflict(err) {
		return err
	}
	return nil
}

// hold holds the batch for a person, visibly. It is idempotent.
func (d *drive) hold(ctx context.Context, code, message string) error {
	if d.batch.Hold != nil && d.batch.Hold.Code == code {
		return nil
	}
	d.log.Error().Str("code", code).Str("reason", message).Msg("batch held")
	return d.note(ctx, func(b *events.Batch, at time.Time) { setHold(b, code, message, at) }, events.BatchHeld)
}

func setHold(b *events.Batch, code, message string, at time.Time) {
	b.Hold = &events.Hold{Code: code, Message: cut(message), At: at}
	b.Why, b.NextTryAt = code, nil
}

// failed is a call that failed and can be repeated: again after a delay that grows, which the state tells, or the sweeper would not wait.
// While a create is unanswered it tells new reasons only, since every change of it makes other processes wait anew.
func (d *drive) failed(ctx context.Context, why string, err error) (step, error) {
	if ctx.Err() != nil {
		return step{}, ctx.Err()
	}
	delay := retryDelay(d.memory.failures)
	d.memory.failures++
	d.memory.restUntil = time.Now().Add(delay)
	d.log.Warn().Err(err).Str("why", why).Dur("delay", delay).Msg("provider call failed")
	next := step{delay: delay, why: why}
	if d.batch.Why != why || unsent(d.batch.State) {
		return next, d.note(ctx, d.waiting(why, err, delay))
	}
	return next, nil
}

// waiting says what the batch waits for. Next to a cancel it is no reason to wait with polling. While a create is unanswered the state is not
// changed for each try, so it names no time: the one of the first try would soon be long past.
func (d *drive) waiting(why string, err error, delay time.Duration) func(*events.Batch, time.Time) {
	return func(b *events.Batch, at time.Time) {
		b.Why, b.NextTryAt, b.LastError = why, nil, cut(err.Error())
		if next := at.Add(delay); unsent(b.State) {
			b.NextTryAt = &next
		}
	}
}

// submitted follows a remote batch. The answer to a paid call must not be lost to the end of ctx, so it is stored beyond it.
func (d *drive) submitted(ctx context.Context, remote *doubleword.Batch, fenced bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.config.DrainTimeout)
	defer cancel()
	return d.enter(ctx, events.BatchSubmitted, func(b *events.Batch, at time.Time) {
		next := at.Add(d.config.FirstPollInterval)
		if b.Wish != nil {
			b.ForeignDigest, b.Wish = foreignDigest(b, remote), nil
		}
		b.ProviderBatchID, b.Fenced, b.Status = remote.ID, fenced, remote.Status
		b.Attempt, b.QuotaSince = max(b.Attempt, 1), nil
		if remote.InputFileID != "" {
			b.FileID = remote.InputFileID
		}
		b.OutputFileID, b.ErrorFileID = remote.OutputFileID, remote.ErrorFileID
		b.Counts = events.Counts(remote.Counts)
		b.SubmittedAt, b.NextPollAt = &at, &next
		if !remote.ExpiresAt.IsZero() {
			b.ExpiresAt = &remote.ExpiresAt
		}
	}, events.BatchIsSubmitted)
}

// logFailure logs a failed upload or create. The provider's words about a row may quote it, so they go into that row's result alone.
func (d *drive) logFailure(what string, v verdict, err error) {
	entry := d.log.Warn().Str("why", v.why).Str("code", v.code).Int("line", v.line)
	if v.cure != cureRejectRow && v.cure != cureRejectAll && v.cure != cureSearch {
		entry = entry.Err(err)
	}
	entry.Msg(what)
}

// isUnknown reports whether a change may have been stored.
func isUnknown(err error) bool { return errors.Is(err, jetstore.ErrUnknown) }

// movedAway reports whether a change was not stored because the bus is another server's by now. It is not so for one whose outcome is unknown.
func movedAway(err error) bool { return errors.Is(err, jetstore.ErrOtherServer) && !isUnknown(err) }

// cut shortens a text to what states and results may hold.
func cut(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	end := maxErrorText
	for end > 0 && s[end]&0xC0 == 0x80 { // do not split a character
		end--
	}
	return s[:end]
}
