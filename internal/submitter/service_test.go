package submitter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/submitter"
	"github.com/batchbus/batchbus/internal/submitter/plan"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) { jetstoretest.Verify(m) }

// half stands in for the submit half: what it was asked for, and what it answers.
type half struct {
	asked  chan string
	answer func(asked string) error
	ended  error
}

func (h *half) Run(ctx context.Context) error {
	if h.ended == nil {
		<-ctx.Done()
	}
	return h.ended
}

func (h *half) Submit(_ context.Context, queue, job, n string) error {
	asked := queue + "/" + job + "/" + n
	h.asked <- asked
	if h.answer == nil {
		return nil
	}
	return h.answer(asked)
}

type jobPlanner struct {
	*half
	plan func(queue, job string) error
}

func (p jobPlanner) Plan(_ context.Context, queue, job string) error { return p.plan(queue, job) }

func start(t *testing.T, f *jetstoretest.Fixture, p submitter.Planner, b submitter.Batches) (stop func()) {
	t.Helper()
	s, err := submitter.New(submitter.Config{Bus: f.Store, Planner: p, Batches: b, DrainTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestAPlannedBatchGoesToTheProviderUntilItIsThere(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	store := jobs.New(f.Store)
	planner, err := plan.New(plan.Config{Bus: f.Store, Jobs: store, SweepInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	submit := &half{asked: make(chan string, 10), answer: func(string) error {
		if tries++; tries == 1 {
			return jetstore.Later(10*time.Millisecond, errors.New("no slot"))
		}
		return nil
	}}
	defer start(t, f, planner, submit)()
	var b block.Builder
	b.Add(&block.Entry{CustomID: "a", Group: events.GroupKey{Model: "m"}, Tail: []byte(`,"body":{}}`), Size: 11})
	for _, data := range [][]byte{b.Bytes(), block.Seal(nil, 0)} {
		if _, err := f.Store.Publish(t.Context(), &nats.Msg{Subject: events.RowsSubject("q", "j"), Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if got := <-submit.asked; got != "q/j/1" {
			t.Errorf("asked for %s", got)
		}
	}
}

func TestAFollowUpKeepsItsWholeNumber(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	submit := &half{asked: make(chan string, 1)}
	planner := jobPlanner{half: &half{}, plan: func(string, string) error { return nil }}
	defer start(t, f, planner, submit)()
	change := jobs.NewChange(time.Now())
	change.Batch(&jobs.Batch{Batch: events.Batch{Queue: "q", Job: "j", N: "5-1-2"}}, events.BatchIsPlanned)
	if err := jobs.New(f.Store).Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if got := <-submit.asked; got != "q/j/5-1-2" {
		t.Errorf("asked for %s", got)
	}
}

func TestAnOpenedOrCancelledJobIsPlannedAndABusyOneAskedAgain(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	asked, busy := make(chan string, 10), true
	planner := jobPlanner{half: &half{}, plan: func(queue, job string) error {
		asked <- queue + "/" + job
		if busy {
			busy = false
			return fmt.Errorf("plan: %w", plan.ErrBusy)
		}
		return nil
	}}
	defer start(t, f, planner, &half{})()
	change := jobs.NewChange(time.Now())
	change.Job(&jobs.Job{Job: events.Job{Queue: "q", Job: "opened"}}, events.JobOpened)
	if err := jobs.New(f.Store).Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := <-asked; got != "q/opened" {
			t.Errorf("asked for %s", got)
		}
	}
	change = jobs.NewChange(time.Now())
	change.Job(&jobs.Job{Job: events.Job{Queue: "q", Job: "cancelled"}}, events.JobCancelling)
	if err := jobs.New(f.Store).Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; got != "q/cancelled" {
		t.Errorf("asked for %s", got)
	}
}

func TestAHalfThatEndsEndsTheService(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	broken := errors.New("broken")
	s, err := submitter.New(submitter.Config{Bus: f.Store, Planner: jobPlanner{half: &half{ended: broken}}, Batches: &half{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); !errors.Is(err, broken) || s.Name() != "submitter" {
		t.Errorf("%s ended with %v", s.Name(), err)
	}
	if _, err := submitter.New(submitter.Config{}); err == nil {
		t.Error("a service without halves was made")
	}
}
