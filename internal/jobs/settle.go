package jobs

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/batchbus/batchbus/internal/budget"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// FollowUp is a batch that takes over rows of one that ends.
type FollowUp struct {
	Rows         []manifest.Entry // in ascending order of place, attempts already counted up where the row was sent
	LineRefusals int
	// Hold makes it wait for a person from the start; nil: it is sent at once.
	Hold *events.Hold
}

// Settlement ends a batch: each of its rows has its answer stored, or is in a follow-up.
type Settlement struct {
	Batch     *Batch
	Cursor    *Cursor // with its final bits; its Totals become the batch's
	State     events.BatchState
	Why       string
	FollowUps []FollowUp
	Billed    *events.Money // what the provider said that it billed; nil when it did not
}

// Settle makes the settle publish of design.md 5.7: the batch with its state and totals, its cursor, the job (whose revision every
// completion check depends on), the follow-ups with their events and, where the queue has a ledger, what the batch has used in the place of
// what was reserved for it, all at once. The follow-ups' manifests are stored before.
//
// [jetstore.ErrConflict]: nothing was changed, read again. After another error the settlement is done or not. It is not idempotent by
// itself, but a second one finds the batch ended and conflicts. The caller calls [Store.Complete] after it.
func (s *Store) Settle(ctx context.Context, objects Objects, settled Settlement) error {
	b := settled.Batch
	change := NewChange(time.Now())
	parent := *b
	parent.State, parent.SinceAt, parent.Why = settled.State, change.At(), settled.Why
	parent.NextTryAt, parent.NextPollAt, parent.Hold, parent.Wish, parent.LastError = nil, nil, nil, nil, ""
	parent.Shortage = nil
	totals := settled.Cursor.Totals
	parent.Totals, parent.Billed = &totals, settled.Billed
	for i, followUp := range settled.FollowUps {
		child, err := s.followUp(ctx, objects, &parent, i+1, followUp, change.At())
		if err != nil {
			return err
		}
		parent.FollowUps = append(parent.FollowUps, child.N)
		change.Batch(child, plannedKinds(child)...)
	}
	if err := s.settle(ctx, change, &parent, settled); err != nil {
		return fmt.Errorf("settle %s: %w", b.StateKey(), err)
	}
	*b = parent
	return nil
}

// ledgerRaces is how often a settlement is tried whose ledger changes meanwhile.
const ledgerRaces = 20

// settle commits the settlement whose follow-ups are in the change, with job and ledger as they are now. Where the ledger was moved meanwhile, by
// another batch, it is tried again: nothing that the settlement rests on has changed. Everything else is a conflict.
func (s *Store) settle(ctx context.Context, followUps *Change, parent *Batch, settled Settlement) error {
	var ledger uint64 // the revision that lost the race
	for races := 0; ; races++ {
		queue, err := s.Budget(ctx, parent.Queue)
		if err != nil {
			return err
		}
		if races > 0 && (queue.Revision == ledger || races > ledgerRaces) {
			return fmt.Errorf("commit change: %w", jetstore.ErrConflict)
		}
		ledger = queue.Revision
		job, err := s.Job(ctx, parent.Queue, parent.Job)
		if err != nil {
			return err
		}
		change, next, cursor := followUps.clone(), *parent, *settled.Cursor
		spend(&next.Batch, &queue.Budget, &job.Job)
		change.Batch(&next, endedKind(settled.State))
		change.Cursor(&cursor)
		job.FollowUps += len(settled.FollowUps)
		change.Job(&job)
		if queue.Spending != nil {
			change.Ledger(&queue)
		}
		if err = s.Commit(ctx, change); err == nil {
			*parent, *settled.Cursor = next, cursor
		}
		if !IsConflict(err) {
			return err
		}
	}
}

// spend counts what a batch has used that ends, in the place of what was reserved for it.
func spend(b *events.Batch, queue *events.Budget, job *events.Job) {
	own := b.Reserved
	if own == nil && queue.Spending == nil {
		return
	}
	used := budget.Used(b, b.Totals)
	b.Reserved, b.Spent = nil, &used
	if queue.Spending != nil {
		ledger := *queue.Spending
		budget.Settle(&ledger, own, &used)
		queue.Spending = &ledger
	}
	if job.Spending != nil {
		spending := *job.Spending
		budget.SettleJob(&spending, own, &used)
		job.Spending = &spending
	}
}

// plannedKinds are the events of a new follow-up.
func plannedKinds(child *Batch) []events.Kind {
	if child.Hold != nil {
		return []events.Kind{events.BatchIsPlanned, events.BatchHeld}
	}
	return []events.Kind{events.BatchIsPlanned}
}

func endedKind(state events.BatchState) events.Kind {
	switch state {
	case events.BatchRefused:
		return events.BatchIsRefused
	case events.BatchCancelled:
		return events.BatchIsCancelled
	default:
		return events.BatchIsSettled
	}
}

// followUp stores the manifest of parent's i-th follow-up and returns its state.
func (s *Store) followUp(
	ctx context.Context, objects Objects, parent *Batch, i int, f FollowUp, at time.Time,
) (*Batch, error) {
	child := &Batch{Batch: events.Batch{
		Queue: parent.Queue, Job: parent.Job, N: parent.N + "-" + strconv.Itoa(i), Parent: parent.N,
		State: events.BatchPlanned, SinceAt: at, GroupKey: parent.GroupKey, Key: parent.Key, Organization: parent.Organization,
		Rows: len(f.Rows), OpaqueIDs: parent.OpaqueIDs, LineRefusals: f.LineRefusals, Hold: f.Hold,
	}}
	digest := manifest.NewDigest(parent.GroupKey)
	for row, err := range manifest.Rows(ctx, objects, parent.Queue, parent.Job, f.Rows) {
		if err != nil {
			return nil, fmt.Errorf("plan follow-up %s: %w", child.StateKey(), err)
		}
		digest.Add(row.CustomID, row.Row)
		child.Bytes += manifest.LineSize(row.Place, row.Entry, child.OpaqueIDs)
	}
	child.Digest = digest.Sum()
	var err error
	child.Manifest, err = manifest.Store(ctx, objects, child.StateKey(), f.Rows)
	return child, err
}
