package submit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// do carries out one action. A conflict means that somebody else changed the batch: read and decide again.
func (d *drive) do(ctx context.Context, a action) (step, error) {
	switch a.kind {
	case stop:
		d.over = d.batch.State == events.BatchSubmitted || d.batch.State == events.BatchFinished || d.batch.State.Ended()
		return step{done: true}, nil
	case wait:
		return step{delay: a.delay, why: d.batch.Why}, nil
	case hold:
		return step{done: true}, d.hold(ctx, a.code, a.message)
	case resume:
		return step{}, d.note(ctx, func(b *events.Batch, _ time.Time) { b.Hold, b.Shortage, b.Why = nil, nil, "" }, events.BatchResumed)
	case look:
		return d.look(ctx)
	case upload:
		return d.sendable(ctx, d.upload)
	case create:
		return d.sendable(ctx, func(ctx context.Context) (step, error) { return d.create(ctx, d.batch.FileID) })
	case adopt:
		return d.adopt(ctx, a)
	case startFence:
		return step{}, d.startFence(ctx)
	case deleteFile:
		return d.deleteFile(ctx)
	case confirm:
		return d.confirm(ctx)
	case cancelTwins:
		return d.stopTwins(ctx, a.twins)
	case recreate:
		return d.recreate(ctx)
	case puzzle:
		return d.puzzle(ctx)
	case endCancelled:
		return d.endCancelled(ctx)
	case cancelRemote:
		return d.cancelRemote(ctx)
	default:
		return d.doWait(ctx, a)
	}
}

// doWait carries out what keeps a batch from being sent for now, and what has to be known for that.
func (d *drive) doWait(ctx context.Context, a action) (step, error) {
	switch a.kind {
	case awaitQueue:
		return d.awaitQueue(ctx)
	case giveWay:
		return d.giveWay(ctx)
	case leaveFence:
		return step{}, d.leaveFence(ctx)
	case estimateRows:
		return d.estimateRows(ctx)
	case holdSpending:
		return d.holdSpending(ctx)
	default:
		return d.doWish(ctx, a)
	}
}

// doWish carries out what only a person's wish asks for.
func (d *drive) doWish(ctx context.Context, a action) (step, error) {
	switch a.kind {
	case lookNamed:
		return d.lookNamed(ctx)
	case stopRemotes:
		return d.stopRemotes(ctx, a.twins)
	case believe:
		d.fenced()
		return step{}, nil
	case resend:
		return step{}, d.resend(ctx)
	case leave:
		return d.leave(ctx)
	case endAbandoned:
		return d.endAbandoned(ctx)
	case refuseWish:
		return step{}, d.refuseWish(ctx, a.code, a.message)
	case dropWish:
		return step{}, d.dropWish(ctx)
	default:
		panic(fmt.Sprintf("submit: action %d is not carried out", a.kind))
	}
}

// look reads, page by page, what the provider has of the batch's path, and each of it by id: a list may show an older status. Of the job's other
// paths it wants to know only whether they are explained.
func (d *drive) look(ctx context.Context) (step, error) {
	path := Path(d.config.BusID, &d.batch.Batch)
	var found, others []doubleword.Batch
	for remote, err := range d.provider.AllBatches(ctx, doubleword.BatchQuery{Search: searchText(jobPath(d.config.BusID, &d.batch.Batch))}) {
		if err != nil {
			return d.failed(ctx, "list_failed", err)
		}
		if remote.Metadata[MetaPath] != path {
			others = append(others, remote)
			continue
		}
		current, err := d.provider.Batch(ctx, remote.ID)
		if err != nil {
			return d.failed(ctx, "read_failed", err)
		}
		found = append(found, current)
	}
	var err error
	if d.strange, err = d.unexplained(ctx, others); err != nil {
		return step{}, err
	}
	d.memory.failures = 0
	d.listed, d.listing = true, found
	return step{}, nil
}

// adopt follows a batch that the provider has already. Live twins of earlier attempts are stopped before, so that a crash leaves none behind;
// those of later ones only when the change is won, which a stale process cannot.
func (d *drive) adopt(ctx context.Context, a action) (step, error) {
	var earlier, later []doubleword.Batch
	for _, twin := range a.twins {
		if attemptOf(&twin) <= d.batch.Attempt {
			earlier = append(earlier, twin)
		} else {
			later = append(later, twin)
		}
	}
	if next, err := d.stopTwins(ctx, earlier); err != nil || next.delay > 0 {
		return next, err
	}
	if err := d.submitted(ctx, &a.remote, a.fenced); err != nil {
		return step{}, err
	}
	d.log.Warn().Str("provider_batch", a.remote.ID).Bool("fenced", a.fenced).Msg("batch adopted")
	if next, err := d.stopTwins(ctx, later); err != nil || next.delay > 0 {
		return next, err
	}
	return step{}, nil
}

// stopTwins cancels what is alive of remote batches that must not run, and tells of them. The next action looks again.
func (d *drive) stopTwins(ctx context.Context, twins []doubleword.Batch) (step, error) {
	if len(twins) == 0 {
		return step{}, nil
	}
	ids := make([]string, len(twins))
	for i, twin := range twins {
		ids[i] = twin.ID
	}
	d.log.Error().Strs("provider_batches", ids).Msg("twins are cancelled")
	if err := d.tell(ctx, events.BatchTwin, "cancelled "+strings.Join(ids, " ")); err != nil {
		return step{}, err
	}
	d.listed = false
	for _, id := range ids {
		if err := d.stopRemote(ctx, id); err != nil {
			return d.failed(ctx, "cancel_failed", err)
		}
	}
	return step{}, nil
}

// stopRemote cancels a remote batch unless it has ended: a cancel would turn even a completed one into a cancelled one. After an error it is
// cancelled or not; repeating is harmless.
func (d *drive) stopRemote(ctx context.Context, id string) error {
	remote, err := d.provider.Batch(ctx, id)
	if err != nil {
		return fmt.Errorf("read batch %s: %w", id, err)
	}
	if !remote.Alive() {
		return nil
	}
	if _, err := d.provider.CancelBatch(ctx, id); err != nil {
		return fmt.Errorf("cancel batch %s: %w", id, err)
	}
	return nil
}

// cancelRemote asks the provider to stop a batch of a cancelled job. The sweep repeats it until the poller finds the batch terminal.
func (d *drive) cancelRemote(ctx context.Context) (step, error) {
	if err := d.stopRemote(ctx, d.batch.ProviderBatchID); err != nil {
		return d.failed(ctx, "cancel_failed", err)
	}
	const why = "cancel_asked"
	if d.batch.Why == why {
		return step{done: true}, nil
	}
	return step{done: true}, d.note(ctx, func(b *events.Batch, _ time.Time) { b.Why = why; b.LastError = "" })
}
