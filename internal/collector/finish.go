package collector

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// pageLines is the provider's largest page (contract 3.4).
const pageLines = 101

// trouble is what kept files from being read. The zero value is none.
type trouble struct {
	gone  error // a file is said not to exist
	other error // anything that may pass
}

func (t *trouble) add(err error) {
	switch {
	case err == nil:
	case fileGone(err):
		t.gone = err
	default:
		t.other = err
	}
}

// isAway tells a provider that does not answer, or only that it cannot, from one that says something of the file.
func isAway(err error) bool { return err != nil && doubleword.ClassOf(err) == doubleword.Retryable }

func (t *trouble) cause() error {
	if t.other != nil {
		return t.other
	}
	return t.gone
}

// finish takes an ended batch as far as it will go: everything that is in its files, then the wait for what is not, then its
// settlement. It returns how long to wait, 0 when the batch is settled. Only errors of the bus and of a stopping service end it early.
func (r *run) finish(ctx context.Context) (time.Duration, error) {
	progressed, tails, err := r.tails(ctx)
	if err != nil {
		return 0, err
	}
	if r.left() == 0 {
		return r.settle(ctx)
	}
	if tails.other != nil && progressed {
		return r.s.cfg.RetryInterval, r.s.tell(ctx, r.b, whyOutage, nil, tails.other)
	}
	until, waited := deadline(r.b, whyMissing, whyOutage)
	if rest := time.Until(until); waited && rest > 0 {
		return rest, nil
	}
	return r.search(ctx, tails, waited)
}

// tails reads what is new of both files, and tells whether anything came.
func (r *run) tails(ctx context.Context) (progressed bool, t trouble, err error) {
	for _, f := range []file{output, failures} {
		before := r.left()
		_, err := r.tail(ctx, f)
		if err := r.judge(ctx, err, &t); err != nil {
			return false, t, err
		}
		progressed = progressed || r.left() < before
		if isAway(t.other) {
			break // the other file is on the same machine
		}
	}
	return progressed, t, nil
}

// judge puts a provider's error into t, and gives back any other. A call that this service's own stop broke off is no fault of the provider.
func (r *run) judge(ctx context.Context, err error, t *trouble) error {
	if err != nil && ctx.Err() != nil {
		return err
	}
	if failed, ok := errors.AsType[*providerError](err); ok {
		t.add(failed)
		return nil
	}
	return err
}

// search looks everywhere for rows that the tails did not bring, unless the provider's own counts say that there are none. waited: the grace
// is over, so what is absent now stays absent.
func (r *run) search(ctx context.Context, t trouble, waited bool) (time.Duration, error) {
	var asked trouble
	remote, err := r.reread(ctx, &asked)
	if err != nil {
		return 0, err
	}
	away := isAway(t.other) && isAway(asked.other)
	t.add(asked.cause())
	if remote.Alive() {
		return 0, r.reopen(ctx, &remote)
	}
	if away {
		t = trouble{other: t.other} // there is nobody to ask elsewhere
	} else if t.gone != nil || t.other != nil || !r.accounted(&remote) {
		if t, err = r.everywhere(ctx); err != nil {
			return 0, err
		}
	}
	switch {
	case r.left() == 0:
		return r.settle(ctx)
	case !waited:
		return r.wait(ctx, &remote, t)
	case t.other != nil:
		return r.pause(), r.stuck(ctx, t.other)
	case r.resultsGone(&remote, t):
		return r.pause(), r.stuck(ctx, goneError(&remote, t.gone))
	}
	return r.close(ctx, &remote)
}

// pause is how long to leave a provider alone that still does not hand out its files when the grace is over: longer and longer.
func (r *run) pause() time.Duration {
	until, _ := deadline(r.b, whyMissing, whyOutage)
	return min(max(r.s.cfg.RetryInterval, time.Since(until)/5), longestAway)
}

// stuck says once, by an event, that a person should look at a batch whose files cannot be read when every deadline is over. It is read on
// all the same, and its settlement ends the hold.
func (r *run) stuck(ctx context.Context, cause error) error {
	if r.b.Hold == nil {
		return r.s.hold(ctx, r.b, events.HoldNeedsAttention, cause)
	}
	return r.s.tell(ctx, r.b, r.b.Why, r.b.NextTryAt, cause)
}

// reread asks for the batch as it is now; a batch that the provider denies, or will not show, is taken as it was last seen.
func (r *run) reread(ctx context.Context, t *trouble) (doubleword.Batch, error) {
	remote, err := r.provider.Batch(ctx, r.b.ProviderBatchID)
	if err == nil {
		r.b.Status, r.b.Counts = remote.Status, events.Counts(remote.Counts)
		r.b.OutputFileID = cmp.Or(r.b.OutputFileID, remote.OutputFileID)
		r.b.ErrorFileID = cmp.Or(r.b.ErrorFileID, remote.ErrorFileID)
		return remote, nil
	}
	if ctx.Err() != nil {
		return remote, err
	}
	t.add(err)
	return doubleword.Batch{ID: r.b.ProviderBatchID, Status: r.b.Status, Counts: doubleword.Counts(r.b.Counts)}, nil
}

// everywhere reads both files from their start, then page by page (whose headers are exact and whose errors are clean), then the merged
// results, until no row is missing. Only the trouble of the pages counts: they are the last word on a file.
func (r *run) everywhere(ctx context.Context) (trouble, error) {
	r.heard = 0
	for _, f := range []file{output, failures} {
		var ignored trouble
		_, err := r.readFile(ctx, f, doubleword.ContentQuery{})
		if err := r.judge(ctx, err, &ignored); err != nil || r.left() == 0 {
			return trouble{}, err
		}
	}
	var t trouble
	for _, f := range []file{output, failures} {
		if err := r.judge(ctx, r.pages(ctx, f), &t); err != nil || r.left() == 0 {
			return t, err
		}
	}
	_, err := r.readFile(ctx, merged, doubleword.ContentQuery{})
	if err := r.judge(ctx, err, &trouble{}); err != nil {
		return t, err
	}
	return t, nil
}

// pages reads a file page by page. A server that sends the same page again does not know pages: then the stream was all there is.
func (r *run) pages(ctx context.Context, f file) error {
	first := ""
	for skip := 0; r.left() > 0; {
		got, err := r.readFile(ctx, f, doubleword.ContentQuery{Skip: skip, Limit: pageLines})
		if err != nil {
			return err
		}
		if got.received == 0 || skip > 0 && got.first == first {
			return nil
		}
		first = got.first
		if skip += got.received; skip > mostLines(len(r.entries)) {
			return &providerError{errEndlessFile}
		}
	}
	return nil
}

// wait begins the wait for rows that are nowhere, visibly: until then they may still come.
func (r *run) wait(ctx context.Context, remote *doubleword.Batch, t trouble) (time.Duration, error) {
	grace := r.grace(remote)
	why, cause := whyMissing, t.cause()
	if cause != nil {
		why, grace = whyOutage, max(grace, r.s.cfg.OutageTimeout)
	}
	until := time.Now().UTC().Add(grace)
	r.log.Info().Int("rows", r.left()).Str("why", why).Time("until", until).Msg("batch has ended without some rows")
	return grace, r.s.tell(ctx, r.b, why, &until, cause)
}

// grace is how long rows may still come after the end of their batch.
func (r *run) grace(remote *doubleword.Batch) time.Duration {
	if !isCancelled(remote.Status) {
		return r.s.cfg.MissingGrace
	}
	if r.s.cfg.CancelGrace > 0 {
		return r.s.cfg.CancelGrace
	}
	return time.Duration(r.job.Policy.CancelGraceSeconds) * time.Second
}

// reopen gives a batch back to the poller whose provider runs rows of it again (a retry call does that).
func (r *run) reopen(ctx context.Context, remote *doubleword.Batch) error {
	change := jobs.NewChange(time.Now())
	now := change.At()
	r.b.State, r.b.SinceAt, r.b.NextPollAt = events.BatchSubmitted, now, &now
	r.b.Status, r.b.Counts = remote.Status, events.Counts(remote.Counts)
	r.b.Why, r.b.NextTryAt, r.b.LastError, r.b.FinishedAt = "", nil, "", nil
	change.Batch(r.b, events.BatchProgress)
	r.log.Warn().Str("status", remote.Status).Msg("provider runs an ended batch again")
	return r.s.cfg.Jobs.Commit(ctx, change)
}
