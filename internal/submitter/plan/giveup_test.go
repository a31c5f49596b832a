package plan_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestACancelEndsAJobWhoseRowsAreGone(t *testing.T) {
	t.Parallel()
	b := start(t, 10)
	b.block(b.row("a", ""), b.row("b", ""))
	b.plan(b.planner())
	b.check(b.Store.Purge(b.ctx, jetstore.StreamRows, events.RowsSubject(queue, job), 0))
	b.block(b.row("c", ""))
	sealed := b.seal()
	b.plan(b.planner())
	if state := b.state(); state.Hold == nil || state.Hold.Code != events.HoldRowsOlder {
		t.Fatalf("job is %+v, want it held", state.Job)
	}
	now := time.Now()
	b.change(func(j *events.Job) { j.CancelWanted = &now })
	b.plan(b.planner())
	state := b.state()
	if state.State != events.JobCompleted || state.Hold != nil || state.Walked.Sequence != sealed || state.Rows != 3 || state.LostRows != 2 ||
		*state.Totals != (events.Totals{Rows: 1, Cancelled: 1}) {
		t.Errorf("job is %+v with %+v", state.Job, state.Totals)
	}
	if results := b.results(); len(results) != 1 || results["c"].Outcome != events.Cancelled {
		t.Errorf("results %+v", results)
	}
	if _, found := b.event(events.JobResumed); !found {
		t.Error("nothing says that the hold ended")
	}
}

func TestACancelledJobWithoutItsRowsIsEndedByTheSweeper(t *testing.T) {
	t.Parallel()
	b := start(t, 2)
	p := b.planner()
	kept := b.block(b.row("a", ""), b.row("b", ""), b.row("c", ""))
	b.plan(p)
	now := time.Now()
	b.change(func(j *events.Job) { // as if a block had come that a restore took away
		j.Walked.Sequence, j.Rows, j.CancelWanted = j.Walked.Sequence+100, j.Rows+1, &now
	})
	b.seal()
	stop := b.run(b.planner())
	defer stop()
	b.until("planned", func() bool { return b.state().State == events.JobPlanned })
	if state := b.state(); state.Rows != 4 || state.LostRows != 1 || state.CancelledRows != 1 || state.Batches != 1 || kept >= state.Walked.Sequence {
		t.Errorf("job is %+v", state.Job)
	}
	if results := b.results(); len(results) != 1 || results["c"].Outcome != events.Cancelled || b.once() != 2 {
		t.Errorf("results %+v, batches %v", results, b.batches())
	}
}

func TestAPlannedJobWithoutItsRowsTakesWhatComesAsLate(t *testing.T) {
	t.Parallel()
	b := start(t, 10)
	b.block(b.row("a", ""))
	b.seal()
	b.plan(b.planner())
	b.check(b.Store.Purge(b.ctx, jetstore.StreamRows, events.RowsSubject(queue, job), 0))
	walked := b.block(b.row("b", ""))
	b.plan(b.planner())
	now := time.Now()
	b.change(func(j *events.Job) { j.CancelWanted = &now })
	b.plan(b.planner())
	state := b.state()
	if state.Hold != nil || state.State != events.JobPlanned || state.Walked.Sequence != walked || state.Rows != 1 || state.CancelledRows != 0 {
		t.Errorf("job is %+v", state.Job)
	}
	if letters := b.letters(); len(letters) != 1 || letters[0].Code != events.DLJobSealed || len(b.results()) != 0 {
		t.Errorf("dead letters %+v, results %+v", letters, b.results())
	}
}
