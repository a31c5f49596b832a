package simulator_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

func ids(t *testing.T, a answer) []string {
	t.Helper()
	var out []string
	for _, entry := range a.json(t)["data"].([]any) {
		out = append(out, entry.(map[string]any)["id"].(string))
	}
	return out
}

func TestBatchesAreListedNewestFirstByPages(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Latency: time.Hour})
	file := p.upload(chatRows(1))
	var made []string
	for range 5 {
		made = append([]string{p.create(file).id}, made...)
	}
	first := p.get("/v1/batches?limit=2")
	if got := ids(t, first); strings.Join(got, ",") != strings.Join(made[:2], ",") || first.json(t)["has_more"] != true {
		t.Errorf("page one %v", got)
	}
	last := first.json(t)["last_id"].(string)
	if got := ids(t, p.get("/v1/batches?limit=101&after="+last)); strings.Join(got, ",") != strings.Join(made[2:], ",") {
		t.Errorf("page two %v", got)
	}
	for _, bad := range []string{"nonsense", noID} {
		if got := ids(t, p.get("/v1/batches?limit=2&after="+bad)); strings.Join(got, ",") != strings.Join(made[:2], ",") {
			t.Errorf("after=%s: %v", bad, got)
		}
	}
}

func TestBatchesAreFoundByMetadataFilenameAndID(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	batch := p.create(p.upload(chatRows(1))).id
	p.untilStatus(batch, "completed")
	for search, want := range map[string]int{
		"bus/q/job/1/": 1, "BUS/Q": 1, "bus%1/": 1, "bus_q": 1, "bus/q/job/2/": 0, "rows.jsonl": 1, batch[:8]: 1, `bus\%`: 0, "": 1,
	} {
		if got := len(ids(t, p.get("/v1/batches?search="+url.QueryEscape(search)))); got != want {
			t.Errorf("search %q: %d batches", search, got)
		}
	}
	for query, want := range map[string]int{
		"status=completed": 1, "status=in_progress": 0, "completion_window=1h,24h": 1, "completion_window=1h": 0,
		"created_after=2100-01-01T00:00:00Z": 0, "created_before=2100-01-01T00:00:00Z": 1,
	} {
		if got := len(ids(t, p.get("/v1/batches?"+query))); got != want {
			t.Errorf("%s: %d batches", query, got)
		}
	}
	for _, query := range []string{"status=validating", "created_after=yesterday", "limit=x", "active_first=maybe"} {
		if a := p.get("/v1/batches?" + query); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, a.status)
		}
	}
}

func TestFilesAreListedWithTheVirtualOnes(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	batch := p.create(p.upload(chatRows(1)))
	p.uploadFields(field{"file", "Plain.jsonl", chatRows(1)})
	for query, want := range map[string]int{
		"": 4, "?purpose=batch": 1, "?purpose=batch_output": 1, "?purpose=batch_error": 1, "?search=PLAIN": 1,
		"?search=batch-" + batch.id: 2, "?limit=0": 1, "?order=asc&limit=3": 3,
	} {
		if got := len(ids(t, p.get("/v1/files"+query))); got != want {
			t.Errorf("%q: %d files", query, got)
		}
	}
	if a := p.get("/v1/files?order=up"); a.status != http.StatusBadRequest {
		t.Errorf("order=up: %d", a.status)
	}
	f := p.get("/v1/files/" + batch.output).json(t)
	if _, there := f["expires_at"]; there || f["filename"] != "batch-"+batch.id+"-output.jsonl" || f["purpose"] != "batch_output" {
		t.Errorf("%v", f)
	}
}

func TestTimePassesOnlyByTheClockOfTheBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, simulator.Config{Seed: 2, Latency: time.Hour, RowsPerSecond: 10})
		batch := p.create(p.upload(chatRows(100)))
		status := func() any { // as the list sees it: no read by id stamps the batch
			return p.get("/v1/batches").json(t)["data"].([]any)[0].(map[string]any)["status"]
		}
		time.Sleep(time.Hour - time.Second)
		if done := p.content(batch.output, "").body; done != "" || status() != "in_progress" {
			t.Errorf("before the latency: %q, %v", done, status())
		}
		time.Sleep(6 * time.Second)
		if n := strings.Count(p.content(batch.output, "").body, "\n"); n < 45 || n > 55 {
			t.Errorf("%d rows after five seconds at ten a second", n)
		}
		time.Sleep(6 * time.Second)
		if status() != "finalizing" {
			t.Errorf("unread after its last row: %v", status())
		}
		time.Sleep(10 * time.Second)
		if status() != "completed" {
			t.Errorf("after the sweep: %v", status())
		}
		hopeless := p.create(p.upload(chatRow("hot", `,"temperature":3`)))
		time.Sleep(time.Hour + time.Second)
		if status() != "failed" {
			t.Errorf("all rows failed, unread: %v", status())
		}
		p.call(http.MethodDelete, "/v1/batches/"+hopeless.id, "")
		time.Sleep(24 * time.Hour)
		b := p.get("/v1/batches/" + batch.id).json(t)
		if b["status"] != "completed" || b["expired_at"] != b["expires_at"] {
			t.Errorf("viewed after its deadline: %v", b)
		}
	})
}
