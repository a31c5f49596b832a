package usage_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/internal/usage"
	"github.com/batchbus/batchbus/pkg/events"
)

func settled(day int, model string, tokens int64, cost events.Money) events.Batch {
	at := time.Date(2026, 12, day, 23, 0, 0, 0, time.UTC)
	return events.Batch{
		Queue: "night", State: events.BatchSettled, SubmittedAt: &at, GroupKey: events.GroupKey{Model: model, Window: "24h"},
		Totals: &events.Totals{
			Rows: 2, Succeeded: 2, Usage: events.Usage{CompletionTokens: tokens, TotalTokens: tokens}, Cost: cost, Currency: "USD", Basis: "price_table",
		},
	}
}

func TestUsageIsAddedUpByDayModelAndWindow(t *testing.T) {
	t.Parallel()
	table, err := prices.Parse([]byte(`[{"model":"m","window":"realtime","input_per_million":"1","output_per_million":"4","currency":"USD"}]`))
	if err != nil {
		t.Fatal(err)
	}
	const cent = events.MoneyUnit / 100
	r := usage.New("2026-12-02", table)
	old, first, second, other := settled(1, "m", 9, 9), settled(2, "m", 1_000_000, 100*cent), settled(2, "m", 500_000, 50*cent), settled(3, "n", 7, 1)
	first.Billed = new(events.Money)
	*first.Billed = 101 * cent
	// A batch that was reserved on one day and sent on the next belongs to the first.
	running := events.Batch{Queue: "night", State: events.BatchSubmitted, SubmittedAt: other.SubmittedAt, GroupKey: first.GroupKey, Reserved: &events.Reservation{
		Amount: events.Amount{Tokens: 11, Money: 12}, Day: "2026-12-02",
	}}
	waiting := events.Batch{Queue: "other", State: events.BatchPlanned, SinceAt: *other.SubmittedAt}
	for _, b := range []*events.Batch{&old, &first, &second, &other, &running, &waiting} {
		r.Add(b)
	}
	q := r.Queue("night")
	if len(q.Lines) != 2 || len(r.Queues()) != 2 || len(r.Queue("none").Lines) != 0 {
		t.Fatalf("%+v", q)
	}
	want := usage.Sum{
		Batches: 2, Rows: 4, Tokens: events.Usage{CompletionTokens: 1_500_000, TotalTokens: 1_500_000}, Cost: 150 * cent, Currency: "USD", Basis: "price_table",
		Billed: 101 * cent, Bills: 1, Realtime: 600 * cent, Saved: 450 * cent, Compared: 2, Running: 1, Reserved: events.Amount{Tokens: 11, Money: 12},
	}
	if got := q.Lines[0]; got != (usage.Line{Day: "2026-12-02", Model: "m", Window: "24h", Sum: want}) {
		t.Errorf("%+v", got)
	}
	if got := q.Lines[1]; got.Model != "n" || got.Compared != 0 || got.Saved != 0 || got.Cost != 1 {
		t.Errorf("a model without a realtime price: %+v", got)
	}
	if q.Total.Batches != 3 || q.Total.Cost != 150*cent+1 || q.Total.Compared != 2 || r.Queue("other").Total.Waiting != 1 {
		t.Errorf("total %+v", q.Total)
	}
}
