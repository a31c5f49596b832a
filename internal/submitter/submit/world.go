package submit

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// worldWait is how long a batch waits for the rest of its job to be planned before it is looked at again.
const worldWait = 15 * time.Second

// whyUnexplained is what a batch says of itself meanwhile.
const whyUnexplained = "other_batches_unexplained"

// unexplained returns the id of a remote batch of this job, under another path, that the states do not explain: a planned batch of its number is
// not there, or holds other rows. Only a bus that went back in time has such ones: the job is planned again then, perhaps in other batches, and
// rows of this one may run there already. What a person gave up or had adopted is explained. Follow-ups are left out: they come back when their
// parent, which is under a path of its own, has settled again.
func (d *drive) unexplained(ctx context.Context, others []doubleword.Batch) (id string, err error) {
	own := jobPath(d.config.BusID, &d.batch.Batch)
	for i := range others {
		remote := &others[i]
		n, last := strings.CutSuffix(strings.TrimPrefix(remote.Metadata[MetaPath], own), "/")
		if _, err := strconv.ParseUint(n, 10, 32); err != nil || !last || !remote.Adoptable() {
			continue
		}
		planned, err := d.config.Jobs.Batch(ctx, d.batch.Queue, d.batch.Job, n)
		if errors.Is(err, jetstore.ErrNotFound) || err == nil && !explains(&planned.Batch, remote) {
			return remote.ID, nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// decideWorld keeps a batch from being sent for the first time in a job that has a remote batch which nothing explains: until the job is
// planned, since that may explain it, and then for a person. A follow-up is sent: its rows' own batch was found, or given up.
func decideWorld(v *view) (action, bool) {
	switch {
	case v.unexplained == "" || isFollowUp(v.batch):
		return action{}, false
	case !v.planned || v.batch.Why != whyUnexplained: // and never at the first sight: what was read may be a moment old
		return action{kind: puzzle}, true
	}
	return action{
		kind: hold, code: events.HoldBusOlder,
		message: "provider batch " + v.unexplained + " is of this job, and no batch here has its rows: the bus was restored to an older day, and" +
			" rows of this batch may run there; look at it, and abandon this one to send its rows all the same",
	}, true
}

func isFollowUp(b *events.Batch) bool { return b.Parent != "" }

// puzzle waits, and says why.
func (d *drive) puzzle(ctx context.Context) (step, error) {
	next := step{delay: worldWait, why: whyUnexplained}
	if d.batch.Why == whyUnexplained {
		return next, nil
	}
	return next, d.note(ctx, func(b *events.Batch, at time.Time) {
		until := at.Add(worldWait)
		b.Why, b.NextTryAt, b.LastError = whyUnexplained, &until, ""
	})
}
