package events_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestMoneyIsExactDecimalText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]events.Money{
		"0": 0, "1": 1e12, "0.000000000001": 1, "-0.5": -5e11, "12.34": 12.34e12, "0.0000000000019": 1, "9223372.036854775807": math.MaxInt64,
		"007.10": 7.1e12,
	} {
		if got, err := events.ParseMoney(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", "-", "1.", ".5", "1e3", "+1", "0x1", "1,5", " 1", "9223372.036854775808", "--1", "NaN"} {
		if got, err := events.ParseMoney(text); !errors.Is(err, events.ErrMoney) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		m := events.Money(rapid.Int64Min(math.MinInt64+1).Draw(t, "money"))
		wire, err := json.Marshal(m)
		var back events.Money
		if err != nil || json.Unmarshal(wire, &back) != nil || back != m {
			t.Fatalf("%d is %s and comes back as %d", m, wire, back)
		}
	})
}

func TestSumsOfMoneyNeverTurnNegative(t *testing.T) {
	t.Parallel()
	if got := events.Money(math.MaxInt64).Plus(1); got != math.MaxInt64 {
		t.Errorf("plus: %d", got)
	}
	if got := events.MoneyUnit.Times(1 << 60); got != math.MaxInt64 {
		t.Errorf("times: %d", got)
	}
	if got := events.Money(40_000).Times(1_000_000); got != 4e10 {
		t.Errorf("a million tokens: %s", got)
	}
}

func TestTotalsAddCostsAndTellCurrenciesApart(t *testing.T) {
	t.Parallel()
	var totals events.Totals
	row := events.Result{Outcome: events.Succeeded, Cost: &events.Cost{Amount: "0.1", Currency: "USD"}}
	for range 10 {
		totals.CountResult(&row)
	}
	totals.CountResult(&events.Result{Outcome: events.Failed})
	if totals.Cost != events.MoneyUnit || totals.Currency != "USD" || totals.Rows != 11 {
		t.Errorf("totals %+v", totals)
	}
	if wire, err := json.Marshal(totals.Cost); err != nil || string(wire) != `"1"` {
		t.Errorf("wire %s, %v", wire, err)
	}
	row.Cost = &events.Cost{Amount: "1", Currency: "EUR"}
	totals.CountResult(&row)
	totals.CountResult(&row)
	if totals.Currency != events.MixedCurrencies {
		t.Errorf("currency %q", totals.Currency)
	}
}

func TestTotalsWithoutMoneyAreTheWireOfBefore(t *testing.T) {
	t.Parallel()
	billed := events.Money(5e11)
	for want, v := range map[string]any{
		`{"rows":1,"succeeded":1,"failed":0,"expired":0,"cancelled":0,"rejected":0,"truncated":0,"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`: events.Totals{
			Rows: 1, Succeeded: 1,
		},
		`{"rows":1,"succeeded":1,"failed":0,"expired":0,"cancelled":0,"rejected":0,"truncated":0,"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0},"cost":"0.25","currency":"USD","billed":"0.5"}`: events.Totals{
			Rows: 1, Succeeded: 1, Cost: 2.5e11, Currency: "USD", Billed: billed,
		},
	} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	batch := events.Batch{Billed: new(events.Money(0))}
	if got, err := events.ParseBatch(batch.Encode()); err != nil || got.Billed == nil || *got.Billed != 0 {
		t.Errorf("a bill of nothing is no bill: %+v, %v", got.Billed, err)
	}
}
