package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

var (
	// ErrNotHeld is returned when nothing waits for a person there.
	ErrNotHeld = errors.New("it is not held")
	// ErrOtherEnd is returned when a hold does not end in the way that was asked for; [events.Endings] says how it does.
	ErrOtherEnd = errors.New("the hold does not end in this way")
	// ErrOpaque is returned when a batch of other rows is to be adopted whose ids do not tell its rows.
	ErrOpaque = errors.New("its ids are opaque, so no answer could be proven to be its row's: abandon it")
)

// holdRaces is how often a change that lost a race is made again.
const holdRaces = 5

// EndHold stores what a person wants to become of a held batch, and returns the batch as it is then. A hold that only has to be looked at
// again ends at once; what takes calls of the provider becomes a wish, which the submitter sees to. The last wish counts. It is idempotent.
// [jetstore.ErrNotFound]: there is no such batch. [ErrNotHeld], [ErrOtherEnd] and [ErrOpaque]: nothing was changed. After another error it is
// done or not.
func (s *Store) EndHold(ctx context.Context, queue, job, n string, wish events.Wish) (b Batch, err error) {
	for range holdRaces {
		if b, err = s.Batch(ctx, queue, job, n); err != nil {
			return b, err
		}
		change := NewChange(time.Now())
		kinds, changed, err := endHold(&b.Batch, wish, change.At())
		if err != nil || !changed {
			return b, err
		}
		change.Batch(&b, kinds...)
		if err = s.Commit(ctx, change); !IsConflict(err) {
			return b, err
		}
	}
	return b, fmt.Errorf("end hold of %s: it changes all the time", b.StateKey())
}

// endHold puts a wish into b's state, or ends its hold, and returns the events of that; not changed when the wish stands already. It is
// pure.
func endHold(b *events.Batch, wish events.Wish, at time.Time) (kinds []events.Kind, changed bool, err error) {
	code, held := HoldOf(b)
	switch {
	case !held:
		return nil, false, ErrNotHeld
	case !slices.Contains(events.Endings(code), wish.Kind):
		return nil, false, fmt.Errorf("%s: %w", code, ErrOtherEnd)
	case wish.Kind == events.WishAdopt && code == events.HoldBusOlder && b.OpaqueIDs:
		return nil, false, ErrOpaque
	case wish.Kind == events.WishResume && !needsWord(b, code):
		resumeBatch(b, code, at)
		return []events.Kind{events.BatchResumed}, true, nil
	}
	wish.Hold, wish.At = code, at
	if b.Wish != nil && b.Wish.Kind == wish.Kind && b.Wish.ProviderBatchID == wish.ProviderBatchID {
		return nil, false, nil
	}
	b.Wish, b.Why, b.NextTryAt = &wish, string(wish.Kind)+"_wanted", nil
	switch wish.Kind {
	case events.WishAdopt:
		return []events.Kind{events.BatchAdopting}, true, nil
	case events.WishAbandon:
		return []events.Kind{events.BatchAbandoning}, true, nil
	default:
		return nil, true, nil // it is told of when the batch goes on
	}
}

// HoldOf is the code of b's hold, or of the one that a wish is about; false when nothing of it waits for a person. It is pure.
func HoldOf(b *events.Batch) (code string, held bool) {
	switch {
	case b.State.Ended():
		return "", false
	case b.Wish != nil:
		return b.Wish.Hold, true
	case b.Hold != nil:
		return b.Hold.Code, true
	default:
		return "", false
	}
}

// needsWord reports whether going on rests on the person's word that the provider has no batch of this path: a create went without an answer,
// and the provider cannot be asked.
func needsWord(b *events.Batch, code string) bool {
	unanswered := b.State == events.BatchCreating || b.State == events.BatchFencing
	return unanswered && code == events.HoldCapability
}

// resumeBatch ends b's hold. What it was held for is met again if it is still there. The waits of creating and fencing begin anew with the
// change itself, and nothing is ever posted from there without them.
func resumeBatch(b *events.Batch, code string, at time.Time) {
	b.Hold, b.Wish, b.Shortage, b.LastError = nil, nil, nil, ""
	switch b.State {
	case events.BatchFinished: // Why and NextTryAt are the collector's grace, which goes on
	case events.BatchSubmitted:
		b.Why, b.NextTryAt, b.UnknownSince, b.NextPollAt = "", nil, nil, &at
	case events.BatchCreating:
		b.Why, b.NextTryAt = "create_unanswered", nil
	case events.BatchFencing:
		b.Why, b.NextTryAt = "fencing", nil
	default:
		b.Why, b.NextTryAt = "", nil
	}
	switch code {
	case events.HoldLineRefusals:
		b.LineRefusals = 0 // as many again, one by one
	case events.HoldUnverifiedQuota:
		b.QuotaSince = nil // as long a wait again
	}
}

// Allow lets a job use so much in all, whatever the limits of it, its queue and its day say, and returns it as it is then. The last word counts;
// one that allows nothing takes it back. It is idempotent. After an error it is done or not.
func (s *Store) Allow(ctx context.Context, queue, job string, allowed events.Allowance) (j Job, err error) {
	for range holdRaces {
		if j, err = s.Job(ctx, queue, job); err != nil {
			return j, err
		}
		if j.Allowed != nil && *j.Allowed == allowed || j.Allowed == nil && allowed == (events.Allowance{}) {
			return j, nil
		}
		if j.Allowed = &allowed; allowed == (events.Allowance{}) {
			j.Allowed = nil
		}
		change := NewChange(time.Now())
		change.Job(&j, events.JobResumed)
		if err = s.Commit(ctx, change); !IsConflict(err) {
			return j, err
		}
	}
	return j, fmt.Errorf("allow job %s/%s to spend: it changes all the time", queue, job)
}

// ResumeJob ends the hold of a job itself, and returns it as it is then. It is idempotent. [ErrNotHeld]: there was none.
func (s *Store) ResumeJob(ctx context.Context, queue, job string) (j Job, err error) {
	for range holdRaces {
		if j, err = s.Job(ctx, queue, job); err != nil {
			return j, err
		}
		if j.Hold == nil {
			return j, ErrNotHeld
		}
		j.Hold = nil
		change := NewChange(time.Now())
		change.Job(&j, events.JobResumed)
		if err = s.Commit(ctx, change); !IsConflict(err) {
			return j, err
		}
	}
	return j, fmt.Errorf("resume job %s/%s: it changes all the time", queue, job)
}
