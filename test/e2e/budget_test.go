package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// usageOf is what batchbus usage prints of a queue as JSON.
type usageOf struct {
	Queue  string `json:"queue"`
	Limits struct {
		DayTokens int64 `json:"day_tokens"`
	} `json:"limits"`
	Ledger struct {
		Total struct {
			Spent struct {
				Tokens int64 `json:"tokens"`
			} `json:"spent"`
			Reserved struct {
				Tokens int64 `json:"tokens"`
			} `json:"reserved"`
		} `json:"total"`
	} `json:"ledger"`
	Total struct {
		Batches int `json:"batches"`
		Rows    int `json:"rows"`
		Tokens  struct {
			Total int64 `json:"total_tokens"`
		} `json:"tokens"`
		Basis string `json:"basis"`
		Saved string `json:"saved"`
	} `json:"total"`
}

func TestALimitHoldsAJobBeforeAnythingIsSentUntilAPersonAllowsMore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "bus")
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"), fmt.Sprintf(goodRow, "a")+fmt.Sprintf(goodRow, "b"))
	run := func() outcome {
		return batchbus(t, dir, nil, "run", file, "--queue", "night", "--job", "nightly", "--data", data, "--simulate", "--set", "budget.job_tokens=10")
	}
	held := run()
	held.want(t, 2)
	for _, text := range []string{"budget_reached", "budget.job_tokens", "is 10 tokens", "0 spent"} {
		if !strings.Contains(held.stderr, text) {
			t.Errorf("stderr does not say %q:\n%s", text, held.stderr)
		}
	}
	status := batchbus(t, dir, nil, "status", "nightly", "--queue", "night", "--data", data)
	if status.want(t, 0); !strings.Contains(status.stdout, "HELD budget_reached") || !strings.Contains(status.stdout, "planned") {
		t.Errorf("status:\n%s", status.stdout)
	}

	allowed := batchbus(t, dir, nil, "resume", "nightly", "--queue", "night", "--budget", "1000000-tokens", "--data", data)
	if allowed.want(t, 0); !strings.Contains(allowed.stderr, "may use 1000000-tokens in all") {
		t.Errorf("stderr:\n%s", allowed.stderr)
	}
	run().want(t, 0)
	batchbus(t, dir, nil, "queues", "put", "night", "--set", "budget.day_tokens=10", "--data", data).want(t, 0)

	prices := writeFile(t, filepath.Join(dir, "prices.json"), strings.ReplaceAll(realtimePrices, "MODEL", modelOf(t)))
	o := batchbus(t, dir, nil, "usage", "--queue", "night", "--data", data, "--prices", prices, "--json")
	o.want(t, 0)
	var u usageOf
	if err := json.Unmarshal([]byte(o.stdout), &u); err != nil {
		t.Fatal(err)
	}
	used := u.Total.Tokens.Total
	if u.Queue != "night" || u.Limits.DayTokens != 10 || u.Total.Rows != 2 || u.Total.Batches != 1 || used == 0 || u.Total.Basis != "simulated" || u.Total.Saved == "" {
		t.Errorf("usage %+v", u)
	}
	if u.Ledger.Total.Spent.Tokens != used || u.Ledger.Total.Reserved.Tokens != 0 {
		t.Errorf("ledger %+v, used %d", u.Ledger, used)
	}
	told := batchbus(t, dir, nil, "usage", "--data", data, "--since", "7d")
	told.want(t, 0)
	for _, text := range []string{"queue night", "limit day_tokens 10", "simulated", "estimated"} {
		if !strings.Contains(told.stdout, text) {
			t.Errorf("stdout does not say %q:\n%s", text, told.stdout)
		}
	}
	batchbus(t, dir, nil, "usage", "--data", data, "--since", "soon").want(t, 2)
	batchbus(t, dir, nil, "resume", "nightly", "--budget", "much", "--data", data).want(t, 2)
}

const realtimePrices = `[{"model":"MODEL","window":"realtime","input_per_million":"1","output_per_million":"1","currency":"USD"}]`

// modelOf is the model of the rows of these tests.
func modelOf(t *testing.T) string {
	t.Helper()
	var row struct {
		Body struct {
			Model string `json:"model"`
		} `json:"body"`
	}
	if err := json.Unmarshal(fmt.Appendf(nil, goodRow, "a"), &row); err != nil {
		t.Fatal(err)
	}
	return row.Body.Model
}
