package prices_test

import (
	"os"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/events"
)

func usage(in, out int64) *events.Usage {
	return &events.Usage{PromptTokens: in, CompletionTokens: out}
}

func parse(t *testing.T, table string) *prices.Table {
	t.Helper()
	parsed, err := prices.Parse([]byte(table))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestACostIsExactToTheLastDigit(t *testing.T) {
	t.Parallel()
	table := parse(t, `[
		{"model":"m","window":"24h","input_per_million":"0.02","output_per_million":"0.15","currency":"USD"},
		{"model":"m","window":"","input_per_million":0.040001,"output_per_million":1.000000,"currency":"USD"},
		{"model":"embed","window":"","input_per_million":"0.03","currency":"USD"}]`)
	for _, c := range []struct {
		model, window string
		usage         *events.Usage
		want          string
	}{
		{"m", "24h", usage(1, 1), "0.00000017"},
		{"m", "24h", usage(3, 0), "0.00000006"},
		{"m", "24h", usage(1_000_000, 2_000_000), "0.32"},
		{"m", "1h", usage(1, 0), "0.000000040001"},
		{"m", "1h", usage(0, 7), "0.000007"},
		{"m", "24h", usage(0, 0), "0"},
		{"embed", "24h", usage(500, 0), "0.000015"},
		{"embed", "24h", usage(500, 9), "0.000015"},
		{"other", "24h", usage(1, 1), ""},
		{"m", "24h", nil, ""},
	} {
		got := table.Cost(c.model, c.window, c.usage)
		switch {
		case c.want == "" && got != nil:
			t.Errorf("%s %s: %+v, want no cost", c.model, c.window, got)
		case c.want != "" && (got == nil || *got != events.Cost{Amount: c.want, Currency: "USD", Basis: "price_table"}):
			t.Errorf("%s %s %+v: %+v, want %s", c.model, c.window, c.usage, got, c.want)
		}
	}
	var none *prices.Table
	if got := none.Cost("m", "24h", usage(1, 1)); got != nil {
		t.Errorf("no table: %+v", got)
	}
}

func TestAMillionRowsAddUpExactly(t *testing.T) { // P43
	t.Parallel()
	table := parse(t, `[{"model":"m","window":"","input_per_million":"0.1","output_per_million":"0.7","currency":"USD"}]`)
	var totals events.Totals
	row := events.Result{Outcome: events.Succeeded, Usage: usage(3, 1)}
	row.Cost = table.Cost("m", "24h", row.Usage)
	for range 1_000_000 {
		totals.CountResult(&row)
	}
	if got := totals.Cost.String(); got != "1" {
		t.Errorf("a million rows of 0.000001 cost %s", got)
	}
}

func TestATableThatIsWrongNamesEveryEntry(t *testing.T) {
	t.Parallel()
	for table, want := range map[string]string{
		`{}`:  "parse price table",
		`[]x`: "something follows",
		`[{"model":"m","input_per_million":"1","currency":"USD","price":1}]`:                                                              "price",
		`[{"input_per_million":"1","currency":"USD"}]`:                                                                                    "entry 1: it names no model",
		`[{"model":"m","input_per_million":"1"}]`:                                                                                         "no currency",
		`[{"model":"m","currency":"USD"}]`:                                                                                                "no input_per_million",
		`[{"model":"m","input_per_million":"1","currency":"USD"},{"model":"n","input_per_million":"1","currency":"EUR"}]`:                 "entry 2: it is in EUR",
		`[{"model":"m","input_per_million":"1","currency":"USD"},{"model":"m","window":"","input_per_million":"2","currency":"USD"}]`:     "has a price already",
		`[{"model":"m","input_per_million":"0.0000001","currency":"USD"}]`:                                                                "more than six digits",
		`[{"model":"m","input_per_million":"-1","currency":"USD"}]`:                                                                       "negative",
		`[{"model":"m","input_per_million":1e-2,"currency":"USD"}]`:                                                                       "no decimal amount",
		`[{"model":"m","input_per_million":"1","output_per_million":"free","currency":"USD"}]`:                                            "no decimal amount",
		`[{"model":"","input_per_million":"1","currency":"USD"},{"model":"m","input_per_million":"1","currency":"USD"},{"currency":"x"}]`: "entry 3",
	} {
		if _, err := prices.Parse([]byte(table)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", table, err, want)
		}
	}
}

func TestTheExampleIsATableAndSaysWhatItIs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../examples/prices.json")
	if err != nil {
		t.Fatal(err)
	}
	table := parse(t, string(data))
	if got := table.Cost("openai/gpt-oss-20b", "1h", usage(1_000_000, 1_000_000)); got == nil || got.Amount != "0.23" {
		t.Errorf("cost %+v", got)
	}
	if got := table.Realtime("openai/gpt-oss-20b", usage(1_000_000, 1_000_000)); got == nil || got.Amount != "0.34" {
		t.Errorf("realtime cost %+v", got)
	}
	if lines, notes := strings.Count(string(data), "\n")-2, strings.Count(string(data), "undated placeholder"); lines != notes || notes != 33 {
		t.Errorf("%d of %d entries say that they are placeholders", notes, lines)
	}
}

func TestSimulatedCostsSayThatTheyAre(t *testing.T) {
	t.Parallel()
	got := prices.Simulated().Cost("whatever", "24h", usage(1_000_000, 1_000_000))
	if got == nil || *got != (events.Cost{Amount: "0.25", Currency: "USD", Basis: "simulated"}) {
		t.Errorf("cost %+v", got)
	}
}

func TestRealtimePricesAreOfNoBatch(t *testing.T) {
	t.Parallel()
	table := parse(t, `[
		{"model":"m","window":"24h","input_per_million":"1","output_per_million":"2","currency":"EUR"},
		{"model":"m","window":"realtime","input_per_million":"2","output_per_million":"5","currency":"EUR"},
		{"model":"n","window":"realtime","input_per_million":"2","currency":"EUR"},
		{"model":"o","input_per_million":"2","currency":"EUR"}]`)
	if got := table.Realtime("m", usage(1_000_000, 1_000_000)); got == nil || *got != (events.Cost{Amount: "7", Currency: "EUR", Basis: "price_table"}) {
		t.Errorf("realtime: %+v", got)
	}
	for _, none := range []*events.Cost{
		table.Cost("m", "1h", usage(1, 1)), table.Cost("n", "24h", usage(1, 1)), table.Realtime("o", usage(1, 1)), table.Realtime("x", usage(1, 1)),
		prices.Simulated().Realtime("m", usage(1, 1)),
	} {
		if none != nil {
			t.Errorf("%+v, want no price", none)
		}
	}
	var empty *prices.Table
	if empty.Realtime("m", usage(1, 1)) != nil || empty.Currency() != "" || table.Currency() != "EUR" {
		t.Error("currency")
	}
}
