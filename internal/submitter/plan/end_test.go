package plan_test

import (
	"maps"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestRowsAfterTheSealAreLate(t *testing.T) {
	t.Parallel()
	b := start(t, 10)
	first, refused := b.row("a", ""), b.refused("r")
	b.block(first, refused)
	b.seal()
	late := []*block.Entry{b.row("b", ""), b.row("a", "")}
	b.block(late...)
	b.seal()
	p := b.planner()
	b.plan(p)
	check := func(when string, want int, walked uint64) {
		t.Helper()
		letters := b.letters()
		for _, d := range letters {
			if d.Code != events.DLJobSealed {
				t.Errorf("%s: dead letter %s", when, d.Code)
			}
		}
		if state := b.state(); len(letters) != want || state.Walked.Sequence != walked || state.Rows != 2 || b.once() != 1 {
			t.Errorf("%s: %d dead letters, want %d; %+v", when, len(letters), want, state.Job)
		}
	}
	check("behind the seal", 2, 4)
	walked := b.block(first, refused, late[0], b.row("c", ""))
	b.plan(p)
	check("while the job is planned", 3, walked)

	m := messages.Result(&events.Result{CustomID: "a", Queue: queue, Job: job, Outcome: events.Succeeded}, first.Source)
	_, err := b.Store.PublishOnce(b.ctx, m)
	b.check(err)
	batch, err := b.jobs.Batch(b.ctx, queue, job, "1")
	b.check(err)
	batch.State, batch.Totals = events.BatchSettled, &events.Totals{Rows: 1, Succeeded: 1}
	change := jobs.NewChange(time.Now())
	change.Batch(&batch)
	b.check(b.jobs.Commit(b.ctx, change))
	_, err = b.jobs.Complete(b.ctx, queue, job)
	b.check(err)
	b.check(b.Store.Purge(b.ctx, jetstore.StreamRows, events.RowsSubject(queue, job), walked))
	walked = b.block(first, refused, late[0], late[1], b.row("d", ""), b.row("a", "another"))
	b.plan(p)
	if state := b.state(); len(b.letters()) != 5 || state.Walked.Sequence != walked || state.State != events.JobCompleted {
		t.Errorf("completed and purged: %d dead letters, want 5; %+v", len(b.letters()), state.Job)
	}
}

func TestACancelEndsWhatIsNotCut(t *testing.T) {
	t.Parallel()
	b := start(t, 2)
	p := b.planner()
	b.block(b.row("a", ""), b.row("b", ""), b.row("c", ""))
	b.plan(p)
	now := time.Now()
	b.change(func(j *events.Job) { j.CancelWanted = &now })
	b.plan(p)
	if results := b.results(); len(results) != 1 || results["c"].Outcome != events.Cancelled || results["c"].Error.Code != events.CodeCancelled {
		t.Fatalf("before the seal: %+v", results)
	}
	b.block(b.row("d", ""), b.row("a", "late"), b.refused("e"))
	b.seal()
	b.plan(p)
	results := b.results()
	if len(results) != 3 || results["d"].Outcome != events.Cancelled || results["e"].Outcome != events.Rejected || len(b.letters()) != 1 {
		t.Errorf("results %+v", results)
	}
	if state := b.state(); state.State != events.JobPlanned || state.Rows != 5 || state.CancelledRows != 2 || state.Batches != 1 ||
		!maps.Equal(b.sizes(), map[string]int{"1": 2}) {
		t.Errorf("job is %+v with %v", state.Job, b.sizes())
	}
}

func TestACancelBeforeTheFirstCutCompletesTheJobAtTheSeal(t *testing.T) {
	t.Parallel()
	b := start(t, 2)
	now := time.Now()
	b.change(func(j *events.Job) { j.CancelWanted = &now })
	b.block(b.row("a", ""), b.row("b", ""), b.row("c", ""))
	b.seal()
	b.plan(b.planner())
	if state := b.state(); state.State != events.JobCompleted || state.CancelledRows != 3 || len(b.results()) != 3 ||
		*state.Totals != (events.Totals{Rows: 3, Cancelled: 3}) {
		t.Errorf("job is %+v, %d results", state.Job, len(b.results()))
	}
}

func TestRowsOlderThanTheStateHoldTheJob(t *testing.T) {
	t.Parallel()
	cases := map[string]func(b *bench){
		"another timestamp where the state says walked": func(b *bench) {
			b.change(func(j *events.Job) { j.Walked.At = j.Walked.At.Add(time.Nanosecond) })
		},
		"no block there": func(b *bench) {
			b.check(b.Store.Purge(b.ctx, jetstore.StreamRows, events.RowsSubject(queue, job), 0))
		},
		"the newest block is an older one": func(b *bench) {
			b.change(func(j *events.Job) { j.Walked.Sequence += 100 })
		},
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, 1)
			p := b.planner()
			b.block(b.row("a", ""))
			b.plan(p)
			spoil(b)
			b.block(b.row("b", ""))
			b.plan(p)
			state := b.state()
			if state.Hold == nil || state.Hold.Code != events.HoldRowsOlder || state.Batches != 1 {
				t.Fatalf("job is %+v", state.Job)
			}
			if e, found := b.event(events.JobHeld); !found || e.JobState.Hold.Code != events.HoldRowsOlder {
				t.Errorf("event %v %+v", found, e)
			}
			b.plan(b.planner())
			if again := b.state(); again.Revision != state.Revision {
				t.Errorf("a held job was changed: %+v", again.Job)
			}
		})
	}
}

func TestTheSweeperFindsWhatLostItsWakeUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, jetstoretest.Start(t))
	b.block(b.row("a", ""), b.row("b", ""))
	lost, cancel := b.lose()
	defer cancel()
	b.until("the wake-up is lost", func() bool { return lost() == 1 })
	stop := b.run(b.planner())
	defer stop()
	b.until("opened and walked", func() bool {
		state, err := b.jobs.Job(b.ctx, queue, job)
		return err == nil && state.Walked.Sequence == 1
	})
	held := events.Hold{Code: events.HoldNeedsAttention, At: time.Now()}
	b.change(func(j *events.Job) { j.Hold = &held })
	b.seal()
	b.rows(1)
	b.until("the wake-ups are taken", func() bool { return b.pending() == 0 })
	if state := b.state(); state.Walked.Sequence != 1 {
		t.Errorf("a held job was planned: %+v", state.Job)
	}
	b.change(func(j *events.Job) { j.Hold = nil })
	b.until("planned after the hold", func() bool { return b.state().State == events.JobPlanned && len(b.letters()) == 1 })
	if b.once() != 2 {
		t.Errorf("batches %v", b.batches())
	}
}
