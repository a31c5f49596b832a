package plan

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func blockOf(entries ...*block.Entry) []byte {
	var b block.Builder
	for _, e := range entries {
		b.Add(e)
	}
	return b.Bytes()
}

func stateOf(t *testing.T, b *memoryBus) jobs.Job {
	t.Helper()
	state, err := jobs.New(b).Job(t.Context(), queue, job)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestAnOldManifestIsStoredAnewBeforeItIsNamed(t *testing.T) {
	t.Parallel()
	b := newMemoryBus()
	p := b.planner()
	p.desk.manifestAge = 20 * time.Millisecond
	b.addBlock(queue, job, blockOf(input(1, "a", "", "m", false)))
	if err := p.Plan(t.Context(), queue, job); err != nil {
		t.Fatal(err)
	}
	b.addBlock(queue, job, block.Seal(nil, 0))
	b.deaf = 1
	if err := p.Plan(t.Context(), queue, job); err != nil {
		t.Fatal(err)
	}
	states, rows, err := b.batches(queue, job)
	if err != nil || len(states) != 1 || len(rows["1"]) != 1 {
		t.Fatalf("batches %v, %v", states, err)
	}
	if len(b.names) != 2 || states[0].Manifest.Name != b.names[1] {
		t.Errorf("the batch names %s, want the second of %v", states[0].Manifest.Name, b.names)
	}
}

func TestAChangeThatIsNotThePlannersCostsNoReplay(t *testing.T) {
	t.Parallel()
	b := newMemoryBus()
	p := b.planner()
	touches, reads := 0, 0
	b.before = func(op string) error {
		switch {
		case op == "read":
			reads++
		case op == "commit" && touches < 3 && b.stream[jetstore.KeySubject(events.JobKey(queue, job))].Sequence > 0:
			touches++
			state := stateOf(t, b)
			state.FollowUps++
			change := jobs.NewChange(time.Now())
			change.Job(&state)
			calm := b.before
			b.before = nil
			defer func() { b.before = calm }()
			return jobs.New(b).Commit(context.Background(), change)
		}
		return nil
	}
	b.addBlock(queue, job, blockOf(input(1, "a", "", "m", false)))
	b.addBlock(queue, job, block.Seal(nil, 0))
	if err := p.Plan(t.Context(), queue, job); err != nil {
		t.Fatal(err)
	}
	if state := stateOf(t, b); state.FollowUps != 3 || state.State != events.JobPlanned || reads != 2 {
		t.Errorf("%d blocks read, want 2; job is %+v", reads, state.Job)
	}
}

func TestABlockThatCannotBeReadHoldsTheJob(t *testing.T) {
	t.Parallel()
	first := input(1, "a", "", "m", false)
	big := input(2, "a", "big", "m", false)
	cases := map[string]struct {
		data     []byte
		header   nats.Header
		patience time.Duration
		hold     string
		err      error
	}{
		"a corrupt block holds at once": {data: []byte("bbk1r\x00"), patience: 1e6 * time.Hour, hold: events.HoldRowsOlder},
		"an object that stays absent holds": {
			data: block.Envelope(big), header: nats.Header{jetstore.HeaderObject: {"o"}, jetstore.HeaderSize: {"1"}},
			patience: time.Hour, hold: events.HoldManifestMissing,
		},
		"an object that may still come is waited for": {
			data: block.Envelope(big), header: nats.Header{jetstore.HeaderObject: {"o"}, jetstore.HeaderSize: {"1"}},
			patience: 1e6 * time.Hour, err: jetstore.ErrObjectMissing,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newMemoryBus()
			b.addBlock(queue, job, blockOf(first))
			b.addBlock(queue, job, c.data)
			b.rows[1].Header = c.header
			p := b.planner()
			p.desk.patience = c.patience
			if err := p.Plan(t.Context(), queue, job); !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			code := ""
			if hold := stateOf(t, b).Hold; hold != nil {
				code = hold.Code
			}
			if code != c.hold {
				t.Errorf("held for %q, want %q", code, c.hold)
			}
		})
	}
}

func TestAWakeUpIsLeftToTheReplicaThatHasTheIndexTwice(t *testing.T) {
	t.Parallel()
	b := newMemoryBus()
	p := b.planner()
	walked := jobs.Job{Job: events.Job{Queue: queue, Job: job, State: events.JobOpen, Walked: events.Place{Sequence: 3}}}
	fresh, planned := walked, walked
	fresh.Walked.Sequence, planned.State = 0, events.JobPlanned
	if !p.elsewhere(&walked, 1) || !p.elsewhere(&walked, 2) || p.elsewhere(&walked, 3) {
		t.Error("a walked job is left to others at the first and second delivery only")
	}
	if p.elsewhere(&fresh, 1) || p.elsewhere(&planned, 1) {
		t.Error("a job of which nobody has an index is left to others")
	}
	b.addBlock(queue, job, blockOf(input(1, "a", "", "m", false)))
	if err := p.Plan(t.Context(), queue, job); err != nil {
		t.Fatal(err)
	}
	if p.elsewhere(&walked, 1) {
		t.Error("a job whose index is here is left to others")
	}
	b.addBlock(queue, job, block.Seal(nil, 0))
	if err := p.Plan(t.Context(), queue, job); err != nil || p.seats.known(seatName(queue, job)) {
		t.Errorf("the index of a planned job is kept, or %v", err)
	}
}

func TestAWakeUpOfAWalkedBlockIsDone(t *testing.T) {
	t.Parallel()
	b := newMemoryBus()
	sequence := b.addBlock(queue, job, blockOf(input(1, "a", "", "m", false)))
	if err := b.planner().Plan(t.Context(), queue, job); err != nil {
		t.Fatal(err)
	}
	before := stateOf(t, b).Revision
	restarted := b.planner() // which would have to leave it to others
	if err := restarted.wake(t.Context(), jetstore.Delivery{Subject: b.rows[0].Subject, Sequence: sequence, At: b.rows[0].At, Delivered: 1}); err != nil {
		t.Fatal(err)
	}
	if stateOf(t, b).Revision != before {
		t.Error("the job was changed")
	}
	err := restarted.wake(t.Context(), jetstore.Delivery{
		Subject: b.rows[0].Subject, Sequence: sequence, At: b.rows[0].At.Add(time.Second), Delivered: 3,
	})
	if err != nil || stateOf(t, b).Revision != before {
		t.Errorf("a younger block with a walked sequence, which ROWS does not hold: %v", err)
	}
}

func TestAnIndexThatAnotherPlannerHasOvertakenIsForgotten(t *testing.T) {
	t.Parallel()
	b := newMemoryBus()
	a, other := b.planner(), b.planner()
	b.addBlock(queue, job, blockOf(input(1, "a", "", "m", false)))
	if err := a.Plan(t.Context(), queue, job); err != nil {
		t.Fatal(err)
	}
	state := stateOf(t, b)
	if a.seats.prune(seatName(queue, job), &state); !a.seats.known(seatName(queue, job)) {
		t.Error("the index of a job that stands where it was left is forgotten")
	}
	b.addBlock(queue, job, block.Seal(nil, 0))
	if err := other.Plan(t.Context(), queue, job); err != nil {
		t.Fatal(err)
	}
	state = stateOf(t, b)
	if a.seats.prune(seatName(queue, job), &state); a.seats.known(seatName(queue, job)) {
		t.Error("the index of a job that another planner ended is kept")
	}
}
