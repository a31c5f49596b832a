package submit_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Two jobs, two replicas, and room for one.
func TestOfTwoJobsThatRaceForTheLastOfADayOneGoes(t *testing.T) {
	t.Parallel()
	const rounds = 25
	bubble(t, simulator.Config{}, func(w *world) {
		need := 2 * rowTokens()
		limits := &events.Limits{}
		replicas := []*submit.Submitter{w.process(w.client, underLimits(t, limits)), w.process(w.client, underLimits(t, limits))}
		for round := range rounds {
			*limits = events.Limits{DayMoney: dollars(need + int64(round)*100)} // one more, beside what those before have used
			names := []string{fmt.Sprintf("A%d", round), fmt.Sprintf("B%d", round)}
			var both errgroup.Group
			for _, name := range names {
				w.planIn(queue, name, events.DefaultPolicy(), 2)
			}
			for i, name := range names {
				for _, s := range []*submit.Submitter{replicas[i], replicas[1-i]} {
					both.Go(func() error {
						for range 100 {
							err := s.Submit(w.t.Context(), queue, name, "1")
							if err == nil {
								return nil
							}
							pass(time.Second)
						}
						return fmt.Errorf("round %d: batch of %s never came to rest", round, name)
					})
				}
			}
			w.check(both.Wait())
			if got := len(w.sim.Ledger().Creates); got != round+1 {
				t.Fatalf("round %d: %d creates", round, got)
			}
			for _, name := range names {
				b := w.batchOf(name, "1")
				if b.State == events.BatchSubmitted {
					w.check(w.settle(&b, 100))
				} else if b.Hold == nil || b.Hold.Code != events.HoldBudget {
					t.Fatalf("round %d: %+v", round, b.Batch)
				}
			}
			w.dropHeld(names)
		}
		if got := w.ledger().Today; got.Reserved != (events.Amount{}) || got.Spent.Tokens != 100*rounds || got.Spent.Money != dollars(100*rounds) {
			t.Errorf("ledger %+v", got)
		}
	})
}

// dropHeld cancels the batches that were held, so that they want nothing in the next round.
func (w *world) dropHeld(names []string) {
	w.t.Helper()
	for _, name := range names {
		b := w.batchOf(name, "1")
		if b.State.Ended() {
			continue
		}
		cursor, err := w.jobs.Cursor(w.t.Context(), &b)
		w.check(err)
		w.check(w.jobs.Settle(w.t.Context(), w.bus, jobs.Settlement{Batch: &b, Cursor: &cursor, State: events.BatchCancelled}))
	}
}

// lossy is a bus on which the next change to creating is stored and its answer lost, once it is armed.
type lossy struct {
	*jetstore.Store
	mu    sync.Mutex
	armed bool
	lost  int
}

func (l *lossy) Commit(ctx context.Context, changes ...jetstore.Change) ([]uint64, error) {
	revisions, err := l.Store.Commit(ctx, changes...)
	creating := slices.ContainsFunc(changes, func(c jetstore.Change) bool {
		return strings.HasPrefix(c.Subject, events.PrefixEvents+string(events.BatchIsCreating))
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || !creating || !l.armed {
		return revisions, err
	}
	l.lost, l.armed = l.lost+1, false
	return nil, jetstore.ErrUnknown
}

// The change to creating that reserves is stored, and nobody hears so: whoever goes on finds it, and neither reserves nor posts a second time.
func TestALostAnswerOfTheReservationReservesNothingTwice(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		bus := &lossy{Store: w.bus}
		need := 2 * rowTokens()
		limits := &events.Limits{}
		const rounds = 5
		for round := range rounds {
			// A day has one room only; what comes behind midnight would have another.
			pass(time.Until(time.Now().Truncate(24 * time.Hour).Add(24*time.Hour + time.Minute)))
			*limits, bus.armed = events.Limits{DayTokens: need}, true
			names := []string{fmt.Sprintf("A%d", round), fmt.Sprintf("B%d", round)}
			var both errgroup.Group
			for _, name := range names {
				w.planIn(queue, name, events.DefaultPolicy(), 2)
			}
			for _, name := range names {
				s := w.process(w.client, underLimits(t, limits))
				lostOne := w.process(w.client, func(c *submit.Config) { underLimits(t, limits)(c); c.Jobs = jobs.New(bus) })
				for i, s := range []*submit.Submitter{lostOne, s} {
					both.Go(func() error {
						pass(time.Duration(i) * time.Second)
						for range 200 {
							if s.Submit(w.t.Context(), queue, name, "1") == nil {
								return nil
							}
							pass(10 * time.Second)
						}
						return fmt.Errorf("batch of %s never came to rest", name)
					})
				}
			}
			w.check(both.Wait())
			if got := len(w.sim.Ledger().Creates); got != round+1 {
				t.Fatalf("round %d: %d creates", round, got)
			}
			if got := w.ledger(); got.Today.Reserved.Tokens != need || got.Total.Reserved.Tokens != need {
				t.Fatalf("round %d: reserved %+v, want %d", round, got, need)
			}
			for _, name := range names {
				if b := w.batchOf(name, "1"); b.State == events.BatchSubmitted {
					w.check(w.settle(&b, 100))
				}
			}
			w.dropHeld(names)
		}
		if bus.lost != rounds {
			t.Errorf("%d answers were lost", bus.lost)
		}
	})
}

// P45, P46: two collectors settle each of many batches at once, and the ledger is exact: each is released once.
func TestCollectorsThatSettleManyBatchesAtOnceReleaseEachOnce(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		const batches = 9 // their numbers stand in their rows, and have one digit
		w.plan(slices.Repeat([]int{2}, batches)...)
		s := w.process(w.client, underLimits(t, &events.Limits{DayTokens: 1 << 40, QueueMoney: 1000 * events.MoneyUnit}))
		w.check(s.Sweep(w.t.Context()))
		if got, want := w.ledger().Today.Reserved, 2*batches*rowTokens(); got.Tokens != want || got.Money != dollars(want) {
			t.Fatalf("reserved %+v, want %d", got, want)
		}
		var collectors errgroup.Group
		var settled atomic.Int64
		for i := range batches {
			b := w.batch(strconv.Itoa(i + 1))
			for range 2 {
				mine := b
				collectors.Go(func() error {
					err := w.settle(&mine, int64(100+i))
					if err == nil {
						settled.Add(1)
					}
					if jobs.IsConflict(err) {
						return nil
					}
					return err
				})
			}
		}
		w.check(collectors.Wait())
		const tokens = batches*100 + batches*(batches-1)/2
		used := events.Spending{Spent: events.Amount{Tokens: tokens, Money: dollars(tokens)}}
		j, err := w.jobs.Job(w.t.Context(), queue, job)
		w.check(err)
		if got := w.ledger(); settled.Load() != batches || got.Total != used || got.Today != used || *j.Spending != used {
			t.Errorf("%d settled, ledger %+v, job %+v", settled.Load(), got, *j.Spending)
		}
	})
}

func TestOtherQueuesAndSmallerBatchesGoOn(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(5, 1)
		w.planIn("other", job, events.DefaultPolicy(), 5)
		limits := underLimits(t, &events.Limits{DayTokens: 2 * rowTokens()})
		s := w.process(w.client, func(c *submit.Config) {
			limits(c)
			of := c.Policy
			c.Policy = func(ctx context.Context, name string) (events.Policy, error) {
				if name != queue {
					return events.DefaultPolicy(), nil
				}
				return of(ctx, name)
			}
		})
		w.check(s.Sweep(w.t.Context()))
		w.check(s.Sweep(w.t.Context()))
		small := w.batch("2")
		w.onlyLive(&small)
		other, err := w.jobs.Batch(w.t.Context(), "other", job, "1")
		if err != nil || other.State != events.BatchSubmitted || other.Reserved != nil {
			t.Errorf("%v: %+v", err, other.Batch)
		}
		if got := w.batch("1"); got.Hold == nil {
			t.Errorf("%+v", got.Batch)
		}
	})
}

// What another version, or a person, wrote into the ledger is found and put right; what is only a moment old is left alone.
func TestALedgerThatDiffersFromItsBatchesIsPutRight(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2)
		s := w.process(w.client, underLimits(t, &events.Limits{DayTokens: 1 << 40}))
		w.check(s.Sweep(w.t.Context()))
		right := w.ledger()
		leak := func(tokens int64) {
			b, err := w.jobs.Budget(w.t.Context(), queue)
			w.check(err)
			wrong := *b.Spending
			wrong.Total.Reserved.Tokens += tokens
			wrong.Today.Reserved.Tokens -= 1
			b.Spending = &wrong
			change := jobs.NewChange(time.Now())
			change.Ledger(&b)
			w.check(w.jobs.Commit(w.t.Context(), change))
		}
		leak(1000)
		w.check(s.Sweep(w.t.Context()))
		leak(1) // it moves between two looks, as it does while batches come and go
		w.check(s.Sweep(w.t.Context()))
		if got := w.ledger(); got.Total.Reserved.Tokens != right.Total.Reserved.Tokens+1001 {
			t.Errorf("a ledger that has just moved is changed: %+v", got)
		}
		w.check(s.Sweep(w.t.Context()))
		if got := w.ledger(); got != right {
			t.Errorf("%+v, want %+v", got, right)
		}
	})
}
