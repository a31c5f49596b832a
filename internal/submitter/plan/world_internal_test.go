package plan

import (
	"context"
	"errors"
	"time"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// world runs a script on a bus: planners that crash and race, publishers, and whatever settles batches.
type world struct {
	script
	bus      *memoryBus
	planners []*Planner
	fed      int
	budget   int // operations until the next incident
	depth    int
	settles  bool // batches are settled, and the job completed, at any time once it is planned
}

func newWorld(t *rapid.T, s script) *world {
	w := &world{script: s, bus: newMemoryBus()}
	w.planners = []*Planner{w.bus.planner(), w.bus.planner()}
	if _, err := jobs.New(w.bus).Open(context.Background(), queue, job, jobs.Options{Policy: s.policy}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) feed() {
	if w.fed == len(w.blocks) {
		return
	}
	entries := w.blocks[w.fed]
	w.fed++
	if entries == nil {
		w.bus.addBlock(queue, job, block.Seal(nil, sealedFrom(w.fed)))
		return
	}
	var b block.Builder
	for _, e := range entries {
		b.Add(e)
	}
	w.bus.addBlock(queue, job, b.Bytes())
}

// incident is called before each operation on the bus: now and then the process crashes, or the other one runs, or rows come.
func (w *world) incident(t *rapid.T) func(string) error {
	return func(op string) error {
		w.budget--
		if w.budget >= 0 || w.depth > 1 {
			return nil
		}
		w.budget = rapid.IntRange(0, 12).Draw(t, "calm")
		w.depth++
		defer func() { w.depth-- }()
		switch rapid.IntRange(0, 4).Draw(t, "incident at "+op) {
		case 0:
			return errInjected
		case 1:
			w.plan(t, 1)
		case 2:
			w.feed()
		case 3:
			w.touch(t)
		case 4:
			w.settle(t)
		}
		return nil
	}
}

// touch changes the job as a settlement does.
func (w *world) touch(t *rapid.T) {
	store := jobs.New(w.bus)
	state, err := store.Job(context.Background(), queue, job)
	if err != nil {
		return
	}
	change := jobs.NewChange(time.Now())
	state.Description += "."
	change.Job(&state)
	if err := store.Commit(context.Background(), change); err != nil && !errors.Is(err, errInjected) && !jobs.IsConflict(err) {
		t.Fatal(err)
	}
}

func (w *world) plan(t *rapid.T, which int) {
	err := w.planners[which].Plan(context.Background(), queue, job)
	if errors.Is(err, errInjected) && rapid.Bool().Draw(t, "restarts") {
		w.planners[which] = w.bus.planner()
	}
	if err != nil && !errors.Is(err, errInjected) && !errors.Is(err, errStale) && !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
}

// settle answers the rows of every batch, as the collector does, and completes the job.
func (w *world) settle(t *rapid.T) {
	ctx, store := context.Background(), jobs.New(w.bus)
	calm := w.bus.before
	w.bus.before = nil
	defer func() { w.bus.before = calm }()
	if state, err := store.Job(ctx, queue, job); !w.settles || err != nil || state.State != events.JobPlanned {
		return
	}
	for b, err := range store.Batches(ctx, queue, job) {
		if err != nil {
			t.Fatal(err)
		}
		rows, err := manifest.Load(ctx, w.bus, b.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range manifest.Rows(ctx, w.bus, queue, job, rows) {
			if err != nil {
				t.Fatal(err)
			}
			m := messages.Result(&events.Result{CustomID: row.CustomID, Queue: queue, Job: job, Outcome: events.Succeeded}, row.Source)
			w.bus.stream[m.Subject] = jetstore.Message{Subject: m.Subject, Header: m.Header, Data: m.Data, Sequence: 1}
		}
		b.State, b.Totals = events.BatchSettled, &events.Totals{Rows: b.Rows, Succeeded: b.Rows}
		change := jobs.NewChange(time.Now())
		change.Batch(&b)
		if err := store.Commit(ctx, change); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Complete(ctx, queue, job); err != nil {
		t.Fatal(err)
	}
}

// run feeds and plans until all is done.
func (w *world) run(t *rapid.T, between func()) events.Job {
	w.bus.before = w.incident(t)
	for w.fed < len(w.blocks) {
		w.feed()
		w.plan(t, rapid.IntRange(0, 1).Draw(t, "planner"))
		if between != nil {
			between()
		}
	}
	w.bus.before = nil
	for _, p := range w.planners {
		if err := p.Plan(context.Background(), queue, job); err != nil {
			t.Fatal(err)
		}
	}
	state, err := jobs.New(w.bus).Job(context.Background(), queue, job)
	if err != nil {
		t.Fatal(err)
	}
	return state.Job
}

// checkCounts compares what the state counts with the blocks that it calls walked.
func (w *world) checkCounts(t *rapid.T) {
	calm := w.bus.before
	w.bus.before = nil
	defer func() { w.bus.before = calm }()
	state, err := jobs.New(w.bus).Job(context.Background(), queue, job)
	if err != nil {
		t.Fatal(err)
	}
	prefix := script{policy: w.policy}
	for i, m := range w.bus.rows {
		if m.Sequence <= state.Walked.Sequence {
			prefix.blocks = append(prefix.blocks, w.blocks[i])
		}
	}
	if _, _, owners, rejected := fates(prefix); state.Rows != owners || state.Rejected != rejected {
		t.Fatalf("walked to %d: %d rows, %d rejected, want %d and %d", state.Walked.Sequence, state.Rows, state.Rejected, owners, rejected)
	}
}
