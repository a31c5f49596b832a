package simulator_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

const noID = "00000000-0000-4000-8000-000000000000"

func TestEveryAuthenticationFailureReadsTheSame(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Keys: []string{"right"}})
	for _, header := range []string{"Bearer wrong", "bearer right", "Bearer  right", "Bearer right ", "Basic right", "Bearer "} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://simulator/v1/files", nil)
		r.Header.Set("Authorization", header)
		if a := p.send(r); a.status != http.StatusUnauthorized || a.body != "Authentication required" {
			t.Errorf("%q: %d %q", header, a.status, a.body)
		}
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://simulator/v1/files?limit=x", nil)
	if a := p.send(r); a.status != http.StatusBadRequest || !strings.HasPrefix(a.body, "Failed to deserialize query string") {
		t.Errorf("the query is read before the key: %d %q", a.status, a.body)
	}
	r, _ = http.NewRequestWithContext(t.Context(), http.MethodGet, "http://simulator/v1/files", nil)
	r.Header.Set("Authorization", "Bearer right")
	if a := p.send(r); a.status != http.StatusOK {
		t.Errorf("the right key: %d %q", a.status, a.body)
	}
}

func TestCreateChecksInTheProvidersOrder(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	file := p.upload(chatRows(1))
	with := func(old, replaced string) string { return strings.Replace(createBody(file), old, replaced, 1) }
	cases := map[string]struct {
		body   string
		status int
		text   string
	}{
		"broken JSON":            {`{`, 400, "Failed to parse the request body as JSON"},
		"a missing field":        {`{"endpoint":"/v1/embeddings","completion_window":"24h"}`, 422, "missing field `input_file_id`"},
		"metadata of numbers":    {with(`"bus/q/job/1/"`, `1`), 422, "Failed to deserialize the JSON body"},
		"an unknown window":      {with(`24h`, `24 h`), 400, "completion_window '24 h'"},
		"an unknown endpoint":    {with(`chat/completions`, `chat`), 400, "endpoint '/v1/chat'"},
		"a prefixed file id":     {with(file, "file-"+file), 400, "input_file_id"},
		"an unknown file":        {with(file, noID), 404, noID},
		"window before endpoint": {strings.Replace(with(`24h`, `x`), `chat/completions`, `x`, 1), 400, "completion_window"},
	}
	for name, tc := range cases {
		t.Run(name+" is refused", func(t *testing.T) {
			if a := p.call(http.MethodPost, "/v1/batches", tc.body); a.status != tc.status || !strings.Contains(a.body, tc.text) {
				t.Errorf("got %d %q", a.status, a.body)
			}
		})
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://simulator/v1/batches", strings.NewReader(createBody(file)))
	if a := p.send(r); a.status != http.StatusUnsupportedMediaType {
		t.Errorf("without content type: %d %q", a.status, a.body)
	}
	if n := len(p.sim.Ledger().Creates); n != 0 {
		t.Errorf("%d batches exist", n)
	}
	p.call(http.MethodDelete, "/v1/files/"+file, "")
	if a := p.call(http.MethodPost, "/v1/batches", createBody(file)); a.status != http.StatusNotFound {
		t.Errorf("a deleted file: %d %q", a.status, a.body)
	}
}

func TestANewBatchIsValidatingWithBothFiles(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Latency: time.Hour})
	file := p.upload(chatRows(3))
	body := strings.Replace(createBody(file), `"metadata":{`, `"metadata":{"Created-By":"me",`, 1)
	a := p.call(http.MethodPost, "/v1/batches", body)
	b := a.json(t)
	if a.status != http.StatusCreated || b["status"] != "validating" || b["output_file_id"] == nil || b["error_file_id"] == nil {
		t.Fatalf("%d %v", a.status, b)
	}
	if b["expires_at"].(float64)-b["created_at"].(float64) != 86400 {
		t.Errorf("window %v to %v", b["created_at"], b["expires_at"])
	}
	meta := b["metadata"].(map[string]any)
	if meta["batchbus"] != "bus/q/job/1/" || meta["Created-By"] != nil || meta["request_source"] != "api" {
		t.Errorf("metadata %v", meta)
	}
	for _, key := range []string{"completed_at", "failed_at", "cancelled_at", "finalizing_at", "expired_at", "errors"} {
		if _, there := b[key]; there {
			t.Errorf("%s is not omitted", key)
		}
	}
	out := p.content(b["output_file_id"].(string), "")
	if out.status != 200 || out.body != "" || out.header.Get("X-Incomplete") != "true" || out.header.Get("X-Last-Line") != "0" {
		t.Errorf("early content %d %v %q", out.status, out.header, out.body)
	}
}

func TestOnlyFailuresMakeAFailedBatch(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	ids := p.create(p.upload(chatRow("a", `,"max_tokens":0`) + chatRow("b", `,"temperature":-1`)))
	b := p.untilStatus(ids.id, "failed")
	if b["failed_at"] == nil || b["completed_at"] != nil {
		t.Errorf("%v", b)
	}
	if n := len(lines(p.content(ids.errors, "").body)); n != 2 {
		t.Errorf("%d error lines", n)
	}
}

func TestABatchOfAnOutputFileFails(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	first := p.create(p.upload(chatRows(1)))
	ids := p.create(first.output)
	b := p.untilStatus(ids.id, "failed")
	if _, there := b["errors"]; there || b["in_progress_at"] != nil {
		t.Errorf("%v", b)
	}
	if got := p.content(ids.output, "").header.Get("X-Incomplete"); got != "false" && got != "true" {
		t.Errorf("X-Incomplete %q", got)
	}
}

func TestCancelIsInstantAndSparesNoState(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Latency: time.Hour})
	slow := p.create(p.upload(chatRows(5)))
	p.untilStatus(slow.id, "in_progress")
	a := p.call(http.MethodPost, "/v1/batches/"+slow.id+"/cancel", "")
	if b := a.json(t); a.status != 200 || b["status"] != "cancelled" || b["cancelling_at"] != b["cancelled_at"] {
		t.Errorf("%d %v", a.status, b)
	}
	if p.content(slow.output, "").header.Get("X-Incomplete") != "false" {
		t.Error("a cancelled batch is still incomplete")
	}
	for _, line := range lines(p.get("/v1/batches/" + slow.id + "/results").body) {
		if !strings.HasSuffix(line, `"status":"pending"}`) {
			t.Errorf("a cancelled row reads %s", line)
		}
	}

	quick := start(t, simulator.Config{})
	done := quick.create(quick.upload(chatRows(2)))
	quick.untilStatus(done.id, "completed")
	for range 2 {
		if b := quick.call(http.MethodPost, "/v1/batches/"+done.id+"/cancel", "").json(t); b["status"] != "cancelled" || b["completed_at"] == nil {
			t.Errorf("a completed batch after cancel: %v", b)
		}
	}
	if n := len(quick.sim.Ledger().Cancels); n != 1 {
		t.Errorf("%d cancels", n)
	}
}

func TestDeletingTheInputCancelsAndUnlinks(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Latency: time.Hour})
	file := p.upload(chatRows(2))
	ids := p.create(file)
	p.untilStatus(ids.id, "in_progress")
	a := p.call(http.MethodDelete, "/v1/files/"+file, "")
	if a.status != 200 || a.json(t)["deleted"] != true {
		t.Fatalf("%d %s", a.status, a.body)
	}
	b := p.get("/v1/batches/" + ids.id).json(t)
	if b["status"] != "cancelled" || b["input_file_id"] != "" {
		t.Errorf("%v", b)
	}
	if a := p.call(http.MethodDelete, "/v1/files/"+file, ""); a.status != http.StatusNotFound {
		t.Errorf("repeated: %d", a.status)
	}
	if a := p.get("/v1/batches/" + ids.id + "/results?limit=5"); a.status != 500 || a.body != "Internal server error" {
		t.Errorf("results: %d %q", a.status, a.body)
	}
	if a := p.get("/v1/batches/" + ids.id + "/results"); a.status != 200 || a.err == nil {
		t.Errorf("unlimited results: %d %v", a.status, a.err)
	}
	l := p.sim.Ledger()
	if !l.Uploads[0].Deleted || !l.Creates[0].Cancelled || len(l.Deletes) != 1 {
		t.Errorf("ledger %+v", l)
	}
}

func TestRetryMovesFailedRowsWithinTheBatch(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Seed: 5, FailureRate: 0.5})
	ids := p.create(p.upload(chatRows(60)))
	p.untilStatus(ids.id, "completed")
	before := lines(p.content(ids.errors, "").body)
	if len(before) < 15 || len(before) > 45 {
		t.Fatalf("%d of 60 failed at a rate of one half", len(before))
	}
	rowID := before[0][len(`{"id":"`):][:len("batch_req_")+36]
	a := p.call(http.MethodPost, "/v1/batches/"+ids.id+"/retry-requests", `{"request_ids":["`+rowID+`"]}`)
	if a.status != 400 || !strings.Contains(a.body, "No valid request IDs") {
		t.Errorf("a prefixed row id: %d %q", a.status, a.body)
	}
	a = p.call(http.MethodPost, "/v1/batches/"+ids.id+"/retry-requests", `{"request_ids":["`+strings.TrimPrefix(rowID, "batch_req_")+`"]}`)
	if a.status != 200 || a.json(t)["completed_at"] != nil {
		t.Errorf("%d %s", a.status, a.body)
	}
	for round := 0; ; round++ {
		p.untilStatus(ids.id, "completed")
		if a = p.call(http.MethodPost, "/v1/batches/"+ids.id+"/retry", ""); a.status == 400 {
			break
		}
		if round > 50 {
			t.Fatal("rows fail for ever")
		}
	}
	if !strings.Contains(a.body, "Nothing to retry") {
		t.Errorf("%q", a.body)
	}
	out := p.content(ids.output, "").body
	if n := len(lines(out)); n != 60 || !strings.Contains(out, rowID) || p.content(ids.errors, "").body != "" {
		t.Errorf("%d lines after all retries", n)
	}
}

func TestRowsThatACancelStoppedRunAfterARetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, simulator.Config{Seed: 7, RowsPerSecond: 20, FailureRate: 0.5})
		var rows strings.Builder
		for i := range 60 {
			rows.WriteString(chatRow("hot-"+strconv.Itoa(i), `,"temperature":3`) + chatRow("row-"+strconv.Itoa(i), ""))
		}
		ids := p.create(p.upload(rows.String()))
		for range 5 { // each between two steps of the run, so that a step finds its rows gone
			time.Sleep(125 * time.Millisecond)
			p.call(http.MethodPost, "/v1/batches/"+ids.id+"/cancel", "")
			p.call(http.MethodPost, "/v1/batches/"+ids.id+"/retry", "")
		}
		time.Sleep(time.Minute)
		p.untilStatus(ids.id, "completed")
		failed := p.content(ids.errors, "").body
		if strings.Count(failed, "hot-") != 60 || strings.Contains(p.content(ids.output, "").body, "hot-") {
			t.Errorf("%d hot rows failed", strings.Count(failed, "hot-"))
		}
		if strings.Contains(failed, `\"type\":\"\"`) || !strings.Contains(failed, "row-") {
			t.Error("a failed row gives no reason")
		}
	})
}

func TestADeletedBatchIsGoneButItsRowsLinger(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	ids := p.create(p.upload(chatRows(2)))
	p.untilStatus(ids.id, "completed")
	if a := p.call(http.MethodDelete, "/v1/batches/"+ids.id, ""); a.status != http.StatusNoContent || a.body != "" {
		t.Errorf("%d %q", a.status, a.body)
	}
	if a := p.get("/v1/batches/" + ids.id); a.status != http.StatusNotFound {
		t.Errorf("%d", a.status)
	}
	a := p.content(ids.output, "")
	if len(lines(a.body)) != 2 || a.header.Get("X-Incomplete") != "false" || a.header.Values("X-Last-Line") != nil {
		t.Errorf("%v %q", a.header, a.body)
	}
}

func TestMalformedIdentifiersAreRefusedAndUnknownOnesNotFound(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	for _, path := range []string{"/v1/files/", "/v1/batches/"} {
		for id, want := range map[string]int{
			"file-" + noID: 400, "batch_" + noID: 400, "x": 400, noID: 404,
			strings.ReplaceAll(noID, "-", ""): 404, "urn:uuid:" + noID: 404,
		} {
			a := p.get(path + id)
			if a.status != want || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
				t.Errorf("%s%s: %d %q", path, id, a.status, a.body)
			}
		}
	}
}
