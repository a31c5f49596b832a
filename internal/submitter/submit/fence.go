package submit

import (
	"context"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// startFence wins fencing, from creating or from a fence whose owner has gone. Whatever an earlier owner still holds can change nothing now.
func (d *drive) startFence(ctx context.Context) error {
	d.log.Warn().Int("attempt", d.batch.Attempt).Str("file", d.batch.FileID).Msg("create stayed unanswered: fencing")
	held := d.batch.Hold
	return d.enter(ctx, events.BatchFencing, func(b *events.Batch, at time.Time) {
		next := at.Add(d.patience.quiet)
		if b.Wish != nil && b.Wish.Kind == events.WishAbandon {
			b.Hold = held // it stands until the batch has ended
		} else {
			b.Wish = nil
		}
		b.Attempt, b.Owner = b.Attempt+1, d.config.Owner
		b.Why, b.NextTryAt = "fencing", &next
	}, events.BatchIsFencing)
}

// deleteFile deletes the input file that an unanswered POST named. Only the provider's own word that this call deleted it is the fence. One that
// it refuses to delete is for a person, whose wish stands for the proof then.
func (d *drive) deleteFile(ctx context.Context) (step, error) {
	deleted, err := d.provider.DeleteFile(ctx, d.batch.FileID)
	switch {
	case refusedForGood(err) && d.batch.Wish == nil:
		return step{done: true}, d.hold(ctx, events.HoldFence, "the provider does not delete input file "+d.batch.FileID+": "+err.Error())
	case err != nil && !refusedForGood(err):
		return d.failed(ctx, "delete_failed", err)
	}
	d.memory.failures = 0
	if deleted {
		d.fenced()
	} else {
		d.memory.fence.gone = true
	}
	return step{}, nil
}

// refusedForGood reports whether a call was refused for a reason that no time cures. A refused key may be the provider's own fault for a while.
func refusedForGood(err error) bool {
	return err != nil && doubleword.ClassOf(err) == doubleword.Permanent && doubleword.RefusalOf(err) != doubleword.RefusedKey
}

// fenced starts the quiet period; what was listed before tells nothing of the time after.
func (d *drive) fenced() {
	d.memory.fence.provenAt = time.Now()
	d.listed, d.listing = false, nil
}

// confirm proves a deletion that was answered 404, which the provider also says when its storage fails: a listing that shows a file of ours
// that was uploaded later, and not the old one, is of the right account, fresh, and without the file.
func (d *drive) confirm(ctx context.Context) (step, error) {
	fence := &d.memory.fence
	if fence.newFile == "" {
		return d.uploadNewFile(ctx)
	}
	newer, older, err := d.findFiles(ctx, fence.newFile, d.batch.FileID)
	switch {
	case err != nil:
		return d.failed(ctx, "list_failed", err)
	case newer && !older:
		d.fenced()
		return step{}, nil
	case !newer && time.Since(fence.newFileAt) < d.patience.quiet:
		return step{delay: min(time.Minute, d.patience.quiet), why: "fencing"}, nil
	case older:
		return step{done: true}, d.hold(ctx, events.HoldFence, "input file "+d.batch.FileID+" cannot be deleted and is still listed")
	default:
		return step{done: true}, d.hold(ctx, events.HoldFence, "no listing shows the newer input file "+fence.newFile)
	}
}

// findFiles looks for two of the batch's input files in a whole listing.
func (d *drive) findFiles(ctx context.Context, newID, oldID string) (newer, older bool, err error) {
	prefix := filePrefix(d.config.BusID, &d.batch.Batch)
	for file, err := range d.provider.AllFiles(ctx, doubleword.FileQuery{Search: searchText(prefix)}) {
		if err != nil {
			return false, false, err
		}
		newer = newer || file.ID == newID && strings.HasPrefix(file.Filename, prefix)
		older = older || file.ID == oldID
	}
	return newer, older, nil
}

// uploadNewFile uploads the next attempt's input file and remembers it.
func (d *drive) uploadNewFile(ctx context.Context) (step, error) {
	id, err := d.uploadInFence(ctx)
	if err != nil {
		return d.notUploaded(ctx, err)
	}
	d.memory.fence.newFile, d.memory.fence.newFileAt = id, time.Now()
	return step{}, nil
}

// recreate comes after a proven fence and a clean list: a new file, one more list, creating, POST. No batch can be made of the old file any
// more; the list after the upload, which may take long, is for what neither this process nor the state knows of.
func (d *drive) recreate(ctx context.Context) (step, error) {
	if d.memory.fence.newFile == "" {
		d.listed, d.listing = false, nil
		return d.uploadNewFile(ctx)
	}
	return d.create(ctx, d.memory.fence.newFile)
}

// uploadInFence uploads while renewing the fence, so that nobody takes a long upload for a dead owner.
func (d *drive) uploadInFence(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := d.uploading()
	renewed := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(renewed)
		d.renew(ctx, stop, cancel)
	}()
	id, err := work.run(ctx)
	close(stop)
	<-renewed
	if cause := context.Cause(ctx); cause != nil {
		return "", cause
	}
	return id, err
}

// renew changes the state to itself now and then. Losing that ends the upload: somebody else owns the fence.
func (d *drive) renew(ctx context.Context, stop <-chan struct{}, lost context.CancelCauseFunc) {
	ticker := time.NewTicker(d.config.UploadAllowance / 2)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := d.note(ctx, func(*events.Batch, time.Time) {}); err != nil {
			lost(err)
			return
		}
	}
}
