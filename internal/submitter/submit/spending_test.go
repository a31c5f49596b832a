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
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// rowTokens is what one row of these tests may take: its body by bytes, and the fixed number for an answer without a bound.
func rowTokens() int64 {
	_, body, _ := strings.Cut(tail("1"), `"body":`)
	return int64(len(body)-1+2)/3 + 16 + 2048
}

// underLimits gives a process the queue's limits, as they are at the time, and prices of one unit a token.
func underLimits(t *testing.T, limits *events.Limits) func(*submit.Config) {
	t.Helper()
	table, err := prices.Parse([]byte(`[{"model":"m","input_per_million":"1","output_per_million":"1","currency":"USD"}]`))
	if err != nil {
		t.Fatal(err)
	}
	return func(c *submit.Config) {
		c.Prices = table
		c.Policy = func(context.Context, string) (events.Policy, error) {
			policy := events.DefaultPolicy()
			policy.Budget = *limits
			return policy, nil
		}
	}
}

// dollars is what some tokens cost.
func dollars(tokens int64) events.Money { return (events.MoneyUnit / 1_000_000).Times(tokens) }

func (w *world) batchOf(job, n string) jobs.Batch {
	w.t.Helper()
	b, err := w.jobs.Batch(w.t.Context(), queue, job, n)
	w.check(err)
	return b
}

func (w *world) ledger() events.Ledger {
	w.t.Helper()
	b, err := w.jobs.Budget(w.t.Context(), queue)
	w.check(err)
	if b.Spending == nil {
		return events.Ledger{}
	}
	return *b.Spending
}

// settle ends a batch that has used so many tokens, as a collector does. Its rows failed, so they are no history of answers.
func (w *world) settle(b *jobs.Batch, tokens int64) error {
	w.t.Helper()
	return w.settleAs(b, events.Totals{Rows: b.Rows, Failed: b.Rows}, tokens)
}

func (w *world) settleAs(b *jobs.Batch, totals events.Totals, tokens int64) error {
	w.t.Helper()
	cursor, err := w.jobs.Cursor(w.t.Context(), b)
	w.check(err)
	totals.Usage, totals.Cost, totals.Currency = events.Usage{CompletionTokens: tokens, TotalTokens: tokens}, dollars(tokens), "USD"
	cursor.Totals = totals
	return w.jobs.Settle(w.t.Context(), w.bus, jobs.Settlement{Batch: b, Cursor: &cursor, State: events.BatchSettled})
}

// P48: an estimate over the limit costs no call at all, and the figures are in one event.
func TestWhatIsOverALimitIsHeldBeforeAnyCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		queue, job events.Limits
		limit      string
	}{
		"of the day in money":    {queue: events.Limits{DayMoney: dollars(2*rowTokens() - 1)}, limit: "day_money"},
		"of the queue in tokens": {queue: events.Limits{QueueTokens: 2*rowTokens() - 1}, limit: "queue_tokens"},
		"of the job in money":    {job: events.Limits{JobMoney: 1}, limit: "job_money"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{}, func(w *world) {
				policy := events.DefaultPolicy()
				policy.Budget = c.job
				w.planIn(queue, job, policy, 2)
				calls := &hooked{Provider: w.client, before: func(call string, _ int) error { return fmt.Errorf("%s is called", call) }}
				s := w.process(calls, underLimits(t, &c.queue))
				b := w.drive(s, "1")
				w.check(s.Sweep(w.t.Context()))
				w.drive(s, "1")
				if b.State != events.BatchPlanned || b.Hold == nil || b.Hold.Code != events.HoldBudget || b.Shortage == nil || b.Shortage.Limit != c.limit {
					t.Fatalf("state %+v", b.Batch)
				}
				if ledger := w.sim.Ledger(); calls.nth != 0 || len(ledger.Uploads)+len(ledger.Creates) != 0 {
					t.Errorf("%d calls, ledger %+v", calls.nth, ledger)
				}
				want := []events.Kind{events.BatchIsPlanned, events.BatchHeld}
				if got := w.kinds("1"); !slices.Equal(got, want) {
					t.Errorf("events %v, want %v", got, want)
				}
				if w.ledger().Total.Reserved != (events.Amount{}) {
					t.Errorf("ledger %+v", w.ledger())
				}
			})
		})
	}
}

func TestABatchThatFitsExactlyIsSentAndReservedAndReleasedOnce(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2)
		need := 2 * rowTokens()
		limits := &events.Limits{DayMoney: dollars(need), QueueTokens: need}
		b := w.drive(w.process(w.client, underLimits(t, limits)), "1")
		w.onlyLive(&b)
		amount := events.Amount{Tokens: need, Money: dollars(need)}
		if b.Reserved == nil || b.Reserved.Amount != amount || b.Estimate.OutputFrom != "default" || w.ledger().Today.Reserved != amount {
			t.Fatalf("reserved %+v, ledger %+v", b.Reserved, w.ledger())
		}
		first, second := b, b
		w.check(w.settle(&first, 100))
		if err := w.settle(&second, 100); !jobs.IsConflict(err) {
			t.Errorf("a second collector settles: %v", err)
		}
		used := events.Spending{Spent: events.Amount{Tokens: 100, Money: dollars(100)}}
		j, err := w.jobs.Job(w.t.Context(), queue, job)
		w.check(err)
		if got := w.ledger(); got.Total != used || got.Today != used || *j.Spending != used {
			t.Errorf("ledger %+v, job %+v", got, j.Spending)
		}
		if b := w.batch("1"); b.Reserved != nil || b.Spent == nil || b.Spent.Amount != used.Spent {
			t.Errorf("batch %+v", b.Batch)
		}
	})
}

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

// A process that dies right after its change to creating, or whose answer is lost, leaves one reservation, and whoever goes on makes no second.
func TestWhoeverGoesOnAfterACrashReservesNothingTwice(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]simulator.Fault{
		"the POST never came":     {{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}},
		"its answer was lost":     {{Kind: simulator.FaultCreateReplyLost}},
		"it was refused for now":  {{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 429}},
		"it was refused for long": {{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 429, Count: 300}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Faults: faults}, func(w *world) {
				w.plan(2)
				need := 2 * rowTokens()
				limits := &events.Limits{DayTokens: need, QueueTokens: need}
				_ = w.process(w.client, underLimits(t, limits)).Submit(w.t.Context(), queue, job, "1") // and it is never heard of again
				if got := w.ledger().Total.Reserved.Tokens; got != need {
					t.Fatalf("reserved %d, want %d: %+v", got, need, w.batch("1").Batch)
				}
				b := w.drive(w.process(w.client, underLimits(t, limits)), "1")
				w.onlyLive(&b)
				ledger := w.ledger()
				if ledger.Total.Reserved.Tokens != need || ledger.Today.Reserved.Tokens != need || b.Reserved.Day != ledger.Day {
					t.Errorf("reserved %+v, batch %+v", ledger, b.Reserved)
				}
			})
		})
	}
}

func TestTheNextDayLetsABatchGoByItself(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2, 2)
		s := w.process(w.client, underLimits(t, &events.Limits{DayTokens: 3 * rowTokens()}))
		b := w.drive(s, "1")
		w.onlyLive(&b)
		w.drive(s, "2")
		for range 3 {
			w.check(s.Sweep(w.t.Context()))
		}
		if got := w.batch("2"); got.Hold == nil || got.Hold.Code != events.HoldBudget || len(w.sim.Ledger().Uploads) != 1 {
			t.Fatalf("%+v", got.Batch)
		}
		pass(24 * time.Hour)
		w.check(s.Sweep(w.t.Context()))
		b = w.batch("2")
		w.onlyLive(&b)
		if b.Shortage != nil || !slices.Contains(w.kinds("2"), events.BatchResumed) {
			t.Errorf("%+v, events %v", b.Batch, w.kinds("2"))
		}
	})
}

func TestAPersonsWordForTheJobStandsInThePlaceOfTheLimits(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2, 2, 2)
		s := w.process(w.client, underLimits(t, &events.Limits{DayTokens: 2 * rowTokens()}))
		w.drive(s, "1")
		w.drive(s, "2")
		w.drive(s, "3")
		_, err := w.jobs.Allow(w.t.Context(), queue, job, events.Allowance{Money: dollars(4 * rowTokens())})
		w.check(err)
		w.check(s.Sweep(w.t.Context()))
		w.check(s.Sweep(w.t.Context()))
		sent, held := 0, events.Shortage{}
		for _, n := range []string{"1", "2", "3"} {
			if b := w.batch(n); b.State == events.BatchSubmitted {
				sent++
			} else if b.Shortage != nil {
				held = *b.Shortage
			}
		}
		if sent != 2 || len(w.sim.Ledger().Creates) != 2 {
			t.Errorf("%d batches are sent, held for %+v", sent, held)
		}
	})
}

func TestMoneyWithoutAPriceIsHeldForThat(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2)
		limits := &events.Limits{DayMoney: events.MoneyUnit}
		priced := underLimits(t, limits)
		s := w.process(w.client, func(c *submit.Config) { priced(c); c.Prices = nil })
		if b := w.drive(s, "1"); b.Hold == nil || b.Hold.Code != events.HoldUnpriced || !strings.Contains(b.Hold.Message, `"m"`) {
			t.Fatalf("%+v", b.Batch)
		}
		if got := len(w.sim.Ledger().Uploads); got != 0 {
			t.Errorf("%d uploads", got)
		}
		restarted := w.process(w.client, priced)
		w.check(restarted.Sweep(w.t.Context()))
		b := w.batch("1")
		w.onlyLive(&b)
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

func TestHistoryStandsForAnswersWithoutABound(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2, 2)
		limits := &events.Limits{DayTokens: 1 << 40}
		s := w.process(w.client, underLimits(t, limits))
		b := w.drive(s, "1")
		w.check(w.settleAs(&b, events.Totals{Rows: 2, Succeeded: 2}, 200))
		b = w.drive(s, "2")
		if e := b.Estimate; e == nil || e.OutputFrom != "history" || e.OutputTokens != 2*126 {
			t.Errorf("estimate %+v", e)
		}
	})
}

func TestABatchOfACancelledJobEndsWhateverHoldsIt(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2)
		s := w.process(w.client, underLimits(t, &events.Limits{DayTokens: 1}))
		w.drive(s, "1")
		w.cancelJob()
		w.check(s.Sweep(w.t.Context()))
		if b := w.batch("1"); b.State != events.BatchCancelled || b.Shortage != nil || len(w.sim.Ledger().Uploads) != 0 {
			t.Errorf("%+v", b.Batch)
		}
	})
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
