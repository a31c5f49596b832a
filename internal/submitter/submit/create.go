package submit

import (
	"context"
	"errors"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// maxPostDelay is how old a won change to creating may be, by the own clock, for its POST to go out (design.md 5.4).
const maxPostDelay = 5 * time.Second

var errTooLate = errors.New("the change to creating took too long")

// create wins creating with the given input file, and posts. Where a limit of spending does not allow the batch any more, it is held instead.
func (d *drive) create(ctx context.Context, fileID string) (step, error) {
	for races := 0; ; races++ {
		c, ready, next, err := d.claimSpending(ctx)
		if err != nil || !ready {
			return next, err
		}
		before, err := d.intend(ctx, fileID, c)
		switch {
		case races < holdRaces && d.lostLedger(ctx, err, c):
			continue
		case err != nil:
			return step{}, err
		case time.Since(before) > maxPostDelay:
			return d.notPosted(ctx, verdict{why: "create_not_sent", delay: firstRetryWait}, errTooLate)
		}
		return d.post(ctx)
	}
}

// post makes the one paid call. It is called only by [drive.create], right after its change.
func (d *drive) post(ctx context.Context) (step, error) {
	last, cancel := d.lastCall(ctx)
	defer cancel()
	remote, err := d.provider.CreateBatch(last, newBatch(d.config.BusID, &d.batch.Batch))
	if err != nil {
		return d.answered(ctx, err)
	}
	d.capacity.taken(&d.batch.Batch)
	if err := d.submitted(ctx, &remote, false); err != nil {
		return d.lostAnswer(ctx, &remote, err)
	}
	d.log.Info().Str("provider_batch", remote.ID).Int("rows", d.batch.Rows).Msg("batch submitted")
	return step{}, nil
}

// lastCall is the context of a POST: one hard deadline, and when ctx ends, DrainTimeout more: an answer that comes in time is worth a
// quarter of an hour of waiting and listing.
func (d *drive) lastCall(ctx context.Context) (context.Context, context.CancelFunc) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.config.CreateTimeout)
	stop := context.AfterFunc(ctx, func() {
		drain := time.NewTimer(d.config.DrainTimeout)
		defer drain.Stop()
		select {
		case <-drain.C:
			cancel()
		case <-call.Done():
		}
	})
	return call, func() { stop(); cancel() }
}

// errStopped is returned in the place of a call's error that is only the end of this process.
var errStopped = errors.New("this process was stopped while the create was under way")

// answered is a POST that gave no batch. What it tells of the paid call is stored beyond the end of ctx.
func (d *drive) answered(ctx context.Context, err error) (step, error) {
	v := judgeCreate(err, d.batch.Rows, d.memory.refusals)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errStopped // after it was judged: what is known of the call stays, and the provider is not blamed
	}
	if v.why == whyQuota {
		v = judgeQuotaWait(v, err, &d.batch.Batch, time.Now())
	}
	if v.why == whyCapacity {
		d.capacity.refused(&d.batch.Batch, v.delay, time.Now())
	}
	d.logFailure("create failed", v, err)
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.config.DrainTimeout)
	defer cancel()
	switch v.cure {
	case cureUnknown:
		return d.unanswered(kept, err)
	case cureRetry:
		return d.notPosted(kept, v, err)
	case cureHold:
		return step{done: true}, d.enter(kept, events.BatchUploaded, func(b *events.Batch, at time.Time) {
			setHold(b, v.code, err.Error(), at)
			b.LastError = cut(err.Error())
		}, events.BatchHeld)
	case cureHoldQueue:
		return d.holdQueue(kept, v, err)
	case cureSplit:
		return d.split(ctx, limit{})
	default:
		return d.refuse(ctx, v, err) // may take long; cut short, it is refused again after a fence
	}
}

// unanswered leaves creating as it is, says why, and waits for the time to look.
func (d *drive) unanswered(ctx context.Context, err error) (step, error) {
	note := func(b *events.Batch, _ time.Time) { b.LastError = cut(err.Error()) }
	return step{delay: d.patience.answer, why: "create_unanswered"}, d.note(ctx, note)
}

// notPosted goes back to uploaded: it is sure that no batch was made.
func (d *drive) notPosted(ctx context.Context, v verdict, err error) (step, error) {
	d.memory.refusals++
	wait := d.waiting(v.why, err, v.delay)
	return step{delay: v.delay, why: v.why}, d.enter(ctx, events.BatchUploaded, func(b *events.Batch, at time.Time) {
		wait(b, at)
		if v.why == whyQuota && b.QuotaSince == nil {
			b.QuotaSince = &at
		}
	}, events.BatchIsUploaded)
}

// lostAnswer is a batch that was made, and whose id could not be stored. Where the state is the very one of this POST after all, as after a
// change of servers, it is stored again; where the state follows another batch by now, this one is stopped; else whoever looks finds it.
func (d *drive) lostAnswer(ctx context.Context, remote *doubleword.Batch, cause error) (step, error) {
	if !jobs.IsConflict(cause) && !movedAway(cause) {
		return step{}, cause
	}
	ctx, cancel := context.WithTimeout(d.config.Bus.Anchor(context.WithoutCancel(ctx)), d.config.DrainTimeout)
	defer cancel()
	now, err := d.config.Jobs.Batch(ctx, d.batch.Queue, d.batch.Job, d.batch.N)
	if err != nil {
		return step{}, err
	}
	if d.posted(&now) {
		d.batch = now
		return step{}, d.submitted(ctx, remote, false)
	}
	followed := now.ProviderBatchID != "" || now.State.Ended()
	if now.Attempt > d.batch.Attempt && !d.provider.Capabilities().ListByMetadata {
		followed = true // nobody could find this one beside the newer attempt's
	}
	if !followed || now.ProviderBatchID == remote.ID {
		return step{}, cause
	}
	d.batch = now
	if next, err := d.stopTwins(ctx, []doubleword.Batch{*remote}); err != nil || next.delay > 0 {
		return next, err
	}
	return step{}, cause
}

// posted reports whether now is the state whose POST this drive has made.
func (d *drive) posted(now *jobs.Batch) bool {
	b := &d.batch
	return now.State == events.BatchCreating && now.SinceAt.Equal(b.SinceAt) && now.Owner == b.Owner && now.Attempt == b.Attempt &&
		now.FileID == b.FileID && now.Digest == b.Digest
}
