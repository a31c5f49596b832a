package events_test

import (
	"encoding/json"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
)

func spending() events.Spending {
	return events.Spending{
		Spent: events.Amount{Tokens: 90_300, Money: 27_100_000_000}, Reserved: events.Amount{Tokens: 41_200, Money: 13_200_000_000},
	}
}

// limitedBatch is a batch with every field that a limit of spending brings.
func limitedBatch(b events.Batch) events.Batch {
	b.Estimate = &events.Estimate{InputTokens: 1200, OutputTokens: 40_000, OutputFrom: "history"}
	b.Shortage = &events.Shortage{
		Limit: "day_money", Day: "2026-11-30", Unit: "USD", Allowed: "10", Spent: "9.5", Reserved: "0", Needed: "0.7",
	}
	b.Reserved = &events.Reservation{Amount: events.Amount{Tokens: 41_200, Money: 13_200_000_000}, Currency: "USD", Basis: "price_table", Day: "2026-11-30"}
	b.Spent = &events.Reservation{Amount: events.Amount{Tokens: 900, Money: 1}, Currency: "USD", Basis: "simulated", Day: "2026-11-30"}
	b.Totals = &events.Totals{Rows: 1, Succeeded: 1, Cost: 1, Currency: "USD", Basis: "simulated"}
	return b
}

func limitedQueue() events.Budget {
	return events.Budget{Queue: "night", Spending: &events.Ledger{Currency: "USD", Total: spending(), Day: "2026-11-30", Today: spending()}}
}

func limitedJob() events.Job {
	j := goldenJobs()["open"]
	used := spending()
	j.Spending, j.Allowed = &used, &events.Allowance{Money: 12_500_000_000_000, Tokens: 7}
	j.Policy.Budget = events.Limits{JobMoney: 1, JobTokens: 2, QueueMoney: 3, QueueTokens: 4, DayMoney: 5, DayTokens: 6}
	return j
}

func TestAmountsAreNeverNegativeAndNeverTooLarge(t *testing.T) {
	t.Parallel()
	most := events.Amount{Tokens: 1<<63 - 1, Money: 1<<63 - 1}
	one := events.Amount{Tokens: 1, Money: 2}
	if most.Plus(one) != most || one.Plus(one) != (events.Amount{Tokens: 2, Money: 4}) || one.Minus(most) != (events.Amount{}) {
		t.Errorf("%+v %+v", most.Plus(one), one.Minus(most))
	}
}

func TestMoneyIsReadFromATextAndFromANumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]events.Money{`"12.5"`: 12_500_000_000_000, `12.5`: 12_500_000_000_000, `3`: 3_000_000_000_000} {
		var m events.Money
		if err := json.Unmarshal([]byte(text), &m); err != nil || m != want {
			t.Errorf("%s: %d, %v", text, m, err)
		}
	}
	for _, text := range []string{`true`, `"x"`, `1e3`, `{}`} {
		var m events.Money
		if err := json.Unmarshal([]byte(text), &m); err == nil {
			t.Errorf("%s is read as %s", text, m)
		}
	}
}
