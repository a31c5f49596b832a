package budget_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/budget"
	"github.com/batchbus/batchbus/pkg/events"
)

const unit = events.MoneyUnit

func need(tokens int64, money events.Money) budget.Need {
	return budget.Need{Amount: events.Amount{Tokens: tokens, Money: money}, Currency: "USD", Basis: "price_table"}
}

func TestEachLimitHoldsByItself(t *testing.T) {
	t.Parallel()
	spent := func(tokens int64, money events.Money) events.Spending {
		return events.Spending{Spent: events.Amount{Tokens: tokens, Money: money}, Reserved: events.Amount{Tokens: 1, Money: 1}}
	}
	for name, c := range map[string]struct {
		edit     func(*budget.Case)
		shortage string
	}{
		"no limit":                       {func(*budget.Case) {}, ""},
		"a job's money, to the last bit": {func(c *budget.Case) { c.Job.JobMoney = 10*unit + 1 + 5*unit }, ""},
		"one unit less":                  {func(c *budget.Case) { c.Job.JobMoney = 10*unit + 5*unit }, "job_money"},
		"a job's tokens":                 {func(c *budget.Case) { c.Job.JobTokens = 100 + 1 + 49 }, "job_tokens"},
		"a queue's money":                {func(c *budget.Case) { c.Queue.QueueMoney = 25 * unit }, "queue_money"},
		"a queue's tokens":               {func(c *budget.Case) { c.Queue.QueueTokens = 250 }, "queue_tokens"},
		"a day's money":                  {func(c *budget.Case) { c.Queue.DayMoney = 20 * unit }, "day_money"},
		"a day's tokens":                 {func(c *budget.Case) { c.Queue.DayTokens = 200 }, "day_tokens"},
		"a job's limits of its queue are not its own": {func(c *budget.Case) { c.Job.QueueMoney, c.Job.DayTokens = 1, 1 }, ""},
		"a queue's limit of jobs is the job's own":    {func(c *budget.Case) { c.Queue.JobMoney, c.Queue.JobTokens = 1, 1 }, ""},
		"what a person allowed stands in place of all": {func(c *budget.Case) {
			c.Allowed = &events.Allowance{Money: 15*unit + 1}
			c.Job.JobMoney, c.Job.JobTokens, c.Queue.DayMoney, c.Queue.QueueTokens = 1, 1, 1, 1
		}, ""},
		"and ends too":                             {func(c *budget.Case) { c.Allowed = &events.Allowance{Tokens: 150} }, "allowed_tokens"},
		"a new day begins with nothing":            {func(c *budget.Case) { c.Queue.DayMoney, c.Day = 5*unit, "2026-12-02" }, ""},
		"a clock that is behind begins none":       {func(c *budget.Case) { c.Queue.DayMoney, c.Day = 20*unit, "2026-11-30" }, "day_money"},
		"what is reserved for it already":          {func(c *budget.Case) { c.Queue.DayMoney, c.Own = 1, &events.Reservation{Day: "2026-12-01"} }, ""},
		"what was reserved for it on an older day": {func(c *budget.Case) { c.Queue.DayMoney, c.Own = 1, &events.Reservation{Day: "2026-11-30"} }, "day_money"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := spent(100, 10*unit)
			one := budget.Case{
				JobSpent: &job, Day: "2026-12-01", Need: need(50, 5*unit),
				Ledger: &events.Ledger{Currency: "USD", Day: "2026-12-01", Total: spent(200, 20*unit), Today: spent(150, 15*unit)},
			}
			c.edit(&one)
			got := budget.Check(&one)
			switch {
			case c.shortage == "" && !got.OK():
				t.Errorf("%+v", got.Shortage)
			case c.shortage != "" && (got.Shortage == nil || got.Shortage.Limit != c.shortage):
				t.Errorf("%+v, want %s", got.Shortage, c.shortage)
			}
		})
	}
}

func TestAShortageHasTheFigures(t *testing.T) {
	t.Parallel()
	c := budget.Case{
		Queue: events.Limits{DayMoney: 10 * unit}, Day: "2026-12-01", Need: need(5, 12*unit),
		Ledger: &events.Ledger{Day: "2026-12-01", Today: events.Spending{Spent: events.Amount{Money: unit / 2}, Reserved: events.Amount{Money: 3}}},
	}
	want := events.Shortage{
		Limit: "day_money", Day: "2026-12-01", Unit: "USD", Allowed: "10", Spent: "0.5", Reserved: "0.000000000003", Needed: "12",
	}
	if got := budget.Check(&c); got.Shortage == nil || *got.Shortage != want {
		t.Errorf("%+v, want %+v", got.Shortage, want)
	}
}

func TestALimitOfMoneyWithoutAPriceIsToldAndNotGuessed(t *testing.T) {
	t.Parallel()
	c := budget.Case{Queue: events.Limits{DayMoney: 10 * unit}, Need: budget.Need{Amount: events.Amount{Tokens: 5}}}
	if got := budget.Check(&c); !got.Unpriced {
		t.Errorf("%+v", got)
	}
	c.Need, c.Ledger = need(5, 1), &events.Ledger{Currency: "EUR"}
	if got := budget.Check(&c); !got.Unpriced {
		t.Errorf("dollars beside a ledger of euros: %+v", got)
	}
	c.Queue = events.Limits{DayTokens: 10}
	if got := budget.Check(&c); !got.OK() {
		t.Errorf("a limit of tokens needs no price: %+v", got)
	}
}

// model is what a queue really spends, added up the long way.
type model struct {
	batches map[string]*events.Batch
	ledger  *events.Ledger
	job     *events.Spending
}

func (m *model) reserve(b *events.Batch, day string, n budget.Need) {
	c := budget.Case{Ledger: m.ledger, JobSpent: m.job, Own: b.Reserved, Day: day, Need: n}
	own, ledger, job := budget.Reserve(&c)
	b.Reserved, b.State, m.ledger, m.job = &own, events.BatchCreating, &ledger, &job
}

func (m *model) settle(b *events.Batch, totals events.Totals) {
	used := budget.Used(b, &totals)
	ledger, job := *m.ledger, *m.job
	budget.Settle(&ledger, b.Reserved, &used)
	budget.SettleJob(&job, b.Reserved, &used)
	b.State, b.Reserved, b.Spent, b.Totals, m.ledger, m.job = events.BatchSettled, nil, &used, &totals, &ledger, &job
}

// The ledger that is kept is at any time the one that the batches add up to, whatever is reserved, posted again and settled, on whatever days.
func TestTheLedgerIsTheSumOfItsBatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{batches: make(map[string]*events.Batch)}
		day := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			name := rapid.StringMatching(`[a-f]`).Draw(t, "batch")
			b := m.batches[name]
			switch {
			case b == nil || b.State.Ended():
				b = &events.Batch{Job: "j", State: events.BatchUploaded}
				m.batches[name+rapid.StringMatching(`[a-z]{8}`).Draw(t, "fresh")] = b
				m.batches[name] = b
				fallthrough
			case rapid.Bool().Draw(t, "again"):
				m.reserve(b, budget.Day(day), need(rapid.Int64Range(0, 100).Draw(t, "tokens"), events.Money(rapid.Int64Range(0, 100).Draw(t, "money"))))
			case b.Reserved != nil:
				used := rapid.Int64Range(0, 200).Draw(t, "used")
				m.settle(b, events.Totals{Usage: events.Usage{TotalTokens: used}, Cost: events.Money(used * 3), Currency: "USD"})
			}
			if rapid.IntRange(0, 5).Draw(t, "midnight") == 0 {
				day = day.AddDate(0, 0, 1)
			}
			sum, seen := budget.NewStart("j", m.ledger.Day), make(map[*events.Batch]bool)
			for _, one := range m.batches {
				if !seen[one] {
					sum.Add(one)
				}
				seen[one] = true
			}
			if sum.Ledger != *m.ledger || sum.Job != *m.job {
				t.Fatalf("kept %+v and %+v, the batches add up to %+v and %+v", *m.ledger, *m.job, sum.Ledger, sum.Job)
			}
		}
	})
}

func TestWhatHasNoPriceCountsAsReserved(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 2, 1, 0, 0, 0, time.UTC)
	b := events.Batch{SubmittedAt: &at, Reserved: &events.Reservation{
		Amount: events.Amount{Tokens: 100, Money: 7}, Currency: "USD", Basis: "price_table", Day: "2026-12-01",
	}}
	for name, c := range map[string]struct {
		totals events.Totals
		want   events.Amount
	}{
		"usage without a price":       {events.Totals{Usage: events.Usage{TotalTokens: 40}}, events.Amount{Tokens: 40, Money: 7}},
		"usage in another currency":   {events.Totals{Usage: events.Usage{TotalTokens: 40}, Cost: 1, Currency: "EUR"}, events.Amount{Tokens: 40, Money: 7}},
		"usage with its price":        {events.Totals{Usage: events.Usage{TotalTokens: 40}, Cost: 3, Currency: "USD"}, events.Amount{Tokens: 40, Money: 3}},
		"nothing used, so it is free": {events.Totals{}, events.Amount{}},
	} {
		if got := budget.Used(&b, &c.totals); got.Amount != c.want || got.Day != "2026-12-01" || got.Currency != "USD" {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	b.Reserved = nil
	if got := budget.Used(&b, &events.Totals{}); got.Day != "2026-12-02" {
		t.Errorf("without a reservation it counts on %s", got.Day)
	}
}
