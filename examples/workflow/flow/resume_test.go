package flow_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/batchbus/batchbus/examples/workflow/flow"
	"github.com/batchbus/batchbus/examples/workflow/tools"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// mortal is everything that a workflow touches, and dies behind one of the touches, or half-way through it.
type mortal struct {
	real    flow.Config
	die     context.CancelFunc
	at      int // which touch, from 1; 0: none
	halfWay bool
	seen    int
	publish []int          // which touches publish rows
	runs    map[string]int // of each tool
}

var errDead = errors.New("killed here")

// touch does something to the world, and dies then. What is before one touch is behind another, so that each place between two is met.
func (m *mortal) touch(do func() error) error {
	m.seen++
	if m.seen != m.at {
		return do()
	}
	defer m.die()
	return errors.Join(do(), errDead)
}

func (m *mortal) OpenJob(ctx context.Context, q events.OpenJob) (status events.JobStatus, err error) {
	err = m.touch(func() (err error) { status, err = m.real.Bus.OpenJob(ctx, q); return err })
	return status, err
}

func (m *mortal) PublishRows(ctx context.Context, queue, job string, all iter.Seq2[client.Row, error], published func(int)) (n int, err error) {
	m.publish = append(m.publish, m.seen+1)
	if m.seen+1 == m.at && m.halfWay {
		all = firstOf(all)
	}
	err = m.touch(func() (err error) { n, err = m.real.Bus.PublishRows(ctx, queue, job, all, published); return err })
	return n, err
}

func firstOf(all iter.Seq2[client.Row, error]) iter.Seq2[client.Row, error] {
	return func(yield func(client.Row, error) bool) {
		for row, err := range all {
			yield(row, err)
			return
		}
	}
}

func (m *mortal) Seal(ctx context.Context, queue, job string, expected int) error {
	return m.touch(func() error { return m.real.Bus.Seal(ctx, queue, job, expected) })
}

func (m *mortal) Follow(ctx context.Context, queue, job string, from uint64) iter.Seq2[client.Result, error] {
	return func(yield func(client.Result, error) bool) {
		for result, err := range m.real.Bus.Follow(ctx, queue, job, from) {
			if err == nil {
				err = m.touch(func() error { return nil })
			}
			if !yield(result, err) || err != nil {
				return
			}
		}
	}
}

func (m *mortal) DeadLetters(ctx context.Context, queue, job string, from uint64) iter.Seq2[client.DeadLetter, error] {
	return m.real.Bus.DeadLetters(ctx, queue, job, from)
}

func (m *mortal) Get(ctx context.Context, key string) ([]byte, bool, error) {
	return m.real.Receipts.Get(ctx, key)
}

func (m *mortal) Once(ctx context.Context, key string, value []byte) (stands []byte, err error) {
	err = m.touch(func() (err error) { stands, err = m.real.Receipts.Once(ctx, key, value); return err })
	return stands, err
}

func (m *mortal) Call(ctx context.Context, name, arguments string) (text string, outcome tools.Outcome, err error) {
	err = m.touch(func() (err error) {
		m.runs[name]++
		text, outcome, err = m.real.Tools.Call(ctx, name, arguments)
		return err
	})
	return text, outcome, err
}

// live runs the workflow of the name until it is over or killed.
func (m *mortal) live(t *testing.T, name string, r *rig) (string, error) {
	t.Helper()
	registry, threads := load(t, rigRows())
	m.real = r.config(name, registry)
	ctx, die := context.WithTimeout(t.Context(), 3*time.Minute)
	defer die()
	m.die = die
	config := m.real
	config.Bus, config.Receipts, config.Tools = m, m, m
	err := flow.Run(ctx, config, threads)
	return report(t, threads), err
}

func TestAWorkflowThatIsKilledAnywhereGoesOnAndPaysForNothingTwice(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	whole := &mortal{runs: map[string]int{}}
	want, err := whole.live(t, "whole", r)
	if err != nil {
		t.Fatal(err)
	}
	r.mustBePaidOnce(t, "whole")
	if whole.seen != 3*4+6+3+3 || len(whole.publish) != 3 { // four for each stage, the results, the calls of tools and their receipts
		t.Fatalf("%d touches, %d of them publish rows: the test misses some", whole.seen, len(whole.publish))
	}
	var all sync.WaitGroup
	for at := 1; at <= whole.seen; at++ {
		all.Go(func() { killed(t, r, fmt.Sprintf("killed-%d", at), &mortal{at: at, runs: map[string]int{}}, want) })
	}
	for _, at := range whole.publish {
		all.Go(func() {
			killed(t, r, fmt.Sprintf("half-%d", at), &mortal{at: at, halfWay: true, runs: map[string]int{}}, want)
		})
	}
	all.Wait()
}

// killed runs a workflow that is killed, and once more to its end.
func killed(t *testing.T, r *rig, name string, m *mortal, want string) {
	t.Helper()
	if _, err := m.live(t, name, r); !errors.Is(err, errDead) {
		t.Errorf("%s: it was not killed: %v", name, err)
	}
	m.at = 0
	if got, err := m.live(t, name, r); err != nil || got != want {
		t.Errorf("%s: it ended with %v, and\n%s\nnot\n%s", name, err, got, want)
	}
	r.mustBePaidOnce(t, name)
	if n := m.runs["part_price"] + m.runs["count_orders"]; n < 3 || n > 4 { // the one that was killed ran again, if its receipt was not stored
		t.Errorf("%s: tools ran %d times", name, n)
	}
}

func TestTwoProgramsLeadOneWorkflowTogether(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	var both sync.WaitGroup
	reports := make([]string, 2)
	for i := range reports {
		both.Go(func() {
			m := &mortal{runs: map[string]int{}}
			got, err := m.live(t, "both", r)
			if err != nil {
				t.Error(err)
			}
			reports[i] = got
		})
	}
	both.Wait()
	r.mustBePaidOnce(t, "both")
	if reports[0] != reports[1] || reports[0] == "" {
		t.Errorf("they report\n%s\n%s", reports[0], reports[1])
	}
}

func TestACapOnTheRealBusSendsNothingMore(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	registry, threads := load(t, rigRows())
	config := r.config("capped", registry)
	config.Caps.Stages = 2
	for range 2 { // and the second run, with more allowed, finds what was decided
		if err := flow.Run(t.Context(), config, threads); err != nil {
			t.Fatal(err)
		}
		for i, want := range []flow.Status{flow.Answered, flow.Answered, flow.Capped} {
			if threads[i].Status != want {
				t.Errorf("row %s: %s %s", threads[i].ID, threads[i].Status, threads[i].Why)
			}
		}
		_, threads = load(t, rigRows())
		config.Caps.Stages = 9
	}
	if rows, ran := r.paid("capped"); rows["capped"] != 3 || rows["capped-2"] != 2 || len(rows) != 2 || ran != 5 {
		t.Errorf("the provider was sent %v, and ran %d", rows, ran)
	}
}
