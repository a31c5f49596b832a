package simulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

func TestABatchRunsFromUploadToContent(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Seed: 1})
	file := p.upload(chatRows(40) + chatRow("hot", `,"temperature":3`))
	ids := p.create(file)
	b := p.untilStatus(ids.id, "completed")
	counts := b["request_counts"].(map[string]any)
	if counts["total"] != 41.0 || counts["completed"] != 40.0 || counts["failed"] != 1.0 {
		t.Fatalf("counts %v", counts)
	}
	out := p.content(ids.output, "")
	if out.status != http.StatusOK || out.header.Get("X-Incomplete") != "false" || out.header.Get("X-Last-Line") != "40" {
		t.Fatalf("%d %v", out.status, out.header)
	}
	seen := map[string]bool{}
	for _, line := range lines(out.body) {
		var row struct {
			ID       string `json:"id"`
			CustomID string `json:"custom_id"`
			Response struct {
				StatusCode int `json:"status_code"`
				Body       struct {
					Model   string `json:"model"`
					Choices []struct {
						Message struct {
							Content string `json:"content"`
						} `json:"message"`
					} `json:"choices"`
					Usage map[string]int `json:"usage"`
				} `json:"body"`
			} `json:"response"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if !strings.HasPrefix(row.ID, "batch_req_") || row.Response.StatusCode != 200 || row.Response.Body.Model != "m" {
			t.Errorf("row %+v", row)
		}
		if !strings.Contains(row.Response.Body.Choices[0].Message.Content, row.CustomID) {
			t.Errorf("answer %q is not about %s", row.Response.Body.Choices[0].Message.Content, row.CustomID)
		}
		usage := row.Response.Body.Usage
		if usage["prompt_tokens"] == 0 || usage["prompt_tokens"]+usage["completion_tokens"] != usage["total_tokens"] {
			t.Errorf("usage %v", usage)
		}
		seen[row.CustomID] = true
	}
	if len(seen) != 40 {
		t.Errorf("%d distinct rows", len(seen))
	}
	checkHotRow(t, p.content(ids.errors, "").body)
	ledger := p.sim.Ledger()
	if ledger.RowsRun != 41 || len(ledger.Uploads) != 1 || ledger.Uploads[0].Rows != 41 || len(ledger.Creates) != 1 {
		t.Errorf("ledger %+v", ledger)
	}
}

// checkHotRow unwraps the three layers of an error line.
func checkHotRow(t *testing.T, line string) {
	t.Helper()
	var row struct {
		CustomID string `json:"custom_id"`
		Response any    `json:"response"`
		Error    struct {
			Code    any    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(line), &row); err != nil {
		t.Fatal(err)
	}
	var reason struct {
		Type    string `json:"type"`
		Details struct {
			Status int    `json:"status"`
			Body   string `json:"body"`
		} `json:"details"`
	}
	if err := json.Unmarshal([]byte(row.Error.Message), &reason); err != nil {
		t.Fatal(err)
	}
	var inner struct {
		Error struct {
			Param string `json:"param"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(reason.Details.Body), &inner); err != nil {
		t.Fatal(err)
	}
	if row.CustomID != "hot" || reason.Type != "NonRetriableHttpStatus" || reason.Details.Status != 400 || inner.Error.Param != "temperature" {
		t.Errorf("%+v %+v %+v", row, reason, inner)
	}
}
