package submit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
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
		if sent != 2 || len(w.sim.Ledger().Creates) != 2 || held.Limit != "allowed_money" {
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
