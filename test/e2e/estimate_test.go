package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
)

const estimatePrices = `[
	{"model":"m","window":"24h","input_per_million":"1","output_per_million":"2","currency":"EUR"},
	{"model":"m","window":"1h","input_per_million":"2","output_per_million":"4","currency":"EUR"},
	{"model":"m","window":"realtime","input_per_million":"3","output_per_million":"6","currency":"EUR"}]`

// estimateOf is what batchbus estimate prints as JSON.
type estimateOf struct {
	Rows   int `json:"rows"`
	Tokens struct {
		Input  int64 `json:"prompt_tokens"`
		Output int64 `json:"completion_tokens"`
	} `json:"tokens"`
	Cost         *events.Cost            `json:"cost"`
	RealtimeCost *events.Cost            `json:"realtime_cost"`
	Groups       []events.EstimatedGroup `json:"groups"`
}

func TestEstimateSaysWhatRowsMayTakeAndCostBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	body := `{"model":"m","messages":[],"max_tokens":100}`
	row := func(id, body string) string {
		return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":"/v1/chat/completions","body":%s}`+"\n", id, body)
	}
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"), row("a", body)+row("b", strings.Replace(body, `,"max_tokens":100`, "", 1))+"{oops\n")
	prices := writeFile(t, filepath.Join(dir, "prices.json"), estimatePrices)

	o := batchbus(t, dir, nil, "estimate", file, "--prices", prices, "--window", "1h", "--output-tokens", "500", "--json")
	o.want(t, 0)
	var got estimateOf
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil {
		t.Fatal(err)
	}
	input := int64((len(body)+2)/3 + 16 + (len(body)-len(`,"max_tokens":100`)+2)/3 + 16)
	if got.Rows != 2 || got.Tokens.Input != input || got.Tokens.Output != 600 {
		t.Errorf("%+v, want 2 rows, %d in, 600 out", got, input)
	}
	if want := fmt.Sprintf("0.%06d", 2*input+4*600); got.Cost == nil || got.Cost.Amount != strings.TrimRight(want, "0") || got.Cost.Currency != "EUR" {
		t.Errorf("cost %+v, want %s", got.Cost, want)
	}
	if want := fmt.Sprintf("0.%06d", 3*input+6*600); got.RealtimeCost == nil || got.RealtimeCost.Amount != strings.TrimRight(want, "0") {
		t.Errorf("realtime cost %+v, want %s", got.RealtimeCost, want)
	}

	told := batchbus(t, dir, nil, "estimate", file, "--prices", prices)
	told.want(t, 0)
	for _, text := range []string{"MODEL", "EUR", "2048 tokens are assumed", "1 rows are bad", "estimates"} {
		if !strings.Contains(told.stdout, text) {
			t.Errorf("stdout does not say %q:\n%s", text, told.stdout)
		}
	}
}

func TestAnEstimateNeverGuessesAPrice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"), fmt.Sprintf(goodRow, "a")+strings.Replace(fmt.Sprintf(goodRow, "b"), `"model":"`, `"model":"other-`, 1))
	prices := writeFile(t, filepath.Join(dir, "prices.json"), estimatePrices)
	o := batchbus(t, dir, nil, "estimate", file, "--prices", prices, "--json")
	o.want(t, 0)
	var got estimateOf
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || got.Cost != nil || len(got.Groups) != 2 {
		t.Errorf("%v: %+v", err, got)
	}
	told := batchbus(t, dir, nil, "estimate", file, "--prices", prices)
	if !strings.Contains(told.stdout, "no price of ") || !strings.Contains(told.stdout, "other-") {
		t.Errorf("stdout does not name the model without a price:\n%s", told.stdout)
	}
	none := batchbus(t, dir, nil, "estimate", file)
	if none.want(t, 0); !strings.Contains(none.stdout, "No prices are given") {
		t.Errorf("stdout:\n%s", none.stdout)
	}
	batchbus(t, dir, nil, "estimate", file, "--prices", filepath.Join(dir, "absent.json")).want(t, 2)
	batchbus(t, dir, nil, "estimate", writeFile(t, filepath.Join(dir, "bad.jsonl"), "{oops\n")).want(t, 2)
}
