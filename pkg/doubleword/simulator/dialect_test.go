package simulator_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// plainUpload uploads to a simulator that answers 200 as OpenAI does.
func (p *provider) plainUpload(rows string) string {
	p.t.Helper()
	a := p.uploadFields(field{"purpose", "", "batch"}, field{"file", "rows.jsonl", rows})
	if a.status != http.StatusOK {
		p.t.Fatalf("upload: %d %s", a.status, a.body)
	}
	return a.json(p.t)["id"].(string)
}

func (p *provider) plainCreate(fileID string) string {
	p.t.Helper()
	a := p.call(http.MethodPost, "/v1/batches", createBody(fileID))
	b := a.json(p.t)
	if a.status != http.StatusOK || b["output_file_id"] != nil || b["error_file_id"] != nil || !strings.HasPrefix(b["id"].(string), "batch_") {
		p.t.Fatalf("create: %d %s", a.status, a.body)
	}
	return b["id"].(string)
}

func TestThePlainDialectHasNeitherEarlyFilesNorCursorNorHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, simulator.Config{Dialect: simulator.DialectOpenAI, Latency: time.Minute})
		file := p.plainUpload(chatRows(3) + chatRow("hot", `,"temperature":3`))
		id := p.plainCreate(file)
		if !strings.HasPrefix(file, "file-") || strings.Contains(file[5:], "-") {
			t.Errorf("file id %q", file)
		}
		time.Sleep(30 * time.Second)
		if b := p.get("/v1/batches/" + id).json(t); b["output_file_id"] != nil || b["dwext"] != nil || b["status"] != "in_progress" {
			t.Errorf("while it runs %v", b)
		}
		time.Sleep(time.Minute)
		b := p.get("/v1/batches/" + id).json(t)
		a := p.content(b["output_file_id"].(string), "?skip=2&offset=2&limit=1")
		if n := len(lines(a.body)); n != 3 || a.header.Get("X-Incomplete") != "" || a.header.Get("X-Last-Line") != "" {
			t.Errorf("%d lines, %v", n, a.header)
		}
		bad := p.content(b["error_file_id"].(string), "").body
		if !strings.Contains(bad, `"response":{"status_code":400,"request_id":"req_`) || !strings.Contains(bad, `"body":{"error":{"message":`) ||
			!strings.Contains(bad, `},"error":null}`) {
			t.Errorf("%s", bad)
		}
		if meta := b["metadata"].(map[string]any); len(meta) != 1 || b["status"] != "completed" {
			t.Errorf("%v", b)
		}
	})
}

func TestThePlainDialectSpeaksOfErrorsInJSON(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Dialect: simulator.DialectOpenAI, Keys: []string{"key"}, Faults: []simulator.Fault{
		simulator.UnverifiedQuota(), simulator.BadGateway("GET /v1/files"),
	}})
	said := func(a answer) (message, code string) {
		e, _ := a.json(t)["error"].(map[string]any)
		message, _ = e["message"].(string)
		code, _ = e["code"].(string)
		return message, code
	}
	if a := p.get("/v1/batches/batch_none"); a.status != 404 {
		t.Errorf("%d", a.status)
	} else if message, _ := said(a); !strings.Contains(message, "batch_none") {
		t.Errorf("%s", a.body)
	}
	file := p.plainUpload(chatRows(1))
	a := p.call(http.MethodPost, "/v1/batches", createBody(file))
	if message, code := said(a); a.status != 429 || code != "rate_limit_exceeded" || message != simulator.TextUnverified {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := p.get("/v1/files"); a.status != 502 || !strings.HasPrefix(a.body, "<html>") {
		t.Errorf("%d %s", a.status, a.body)
	}
	id := p.plainCreate(file)
	p.untilStatus(id, "completed")
	for _, path := range []string{"/analytics", "/results"} {
		if a := p.get("/v1/batches/" + id + path); a.status != 404 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if a := p.call(http.MethodPost, "/v1/batches/"+id+"/cancel", ""); a.status != 400 || p.status(id) != "completed" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if got := ids(t, p.get("/v1/batches?search=nothing-like-it")); len(got) != 1 {
		t.Errorf("a list was searched: %v", got)
	}
}

func TestThePlainDialectExpiresWhatTheWindowLeftUnrun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, simulator.Config{Dialect: simulator.DialectOpenAI, RowsPerSecond: 0.001, Faults: []simulator.Fault{
			{Kind: simulator.FaultFrozenValidating, Nth: 2}, {Kind: simulator.FaultRetriedRow, CustomIDs: []string{"row-0000"}},
		}})
		file := p.plainUpload(chatRows(100))
		id, frozen := p.plainCreate(file), p.plainCreate(file)
		time.Sleep(24*time.Hour + 20*time.Minute)
		b := p.get("/v1/batches/" + id).json(t)
		if b["status"] != "expired" || b["expired_at"] == nil || b["completed_at"] != nil {
			t.Fatalf("%v", b)
		}
		out, bad := p.content(b["output_file_id"].(string), "").body, p.content(b["error_file_id"].(string), "").body
		expired := strings.Count(bad, `"response":null,"error":{"code":"batch_expired","message":"This request could not be executed before the completion window expired."}`)
		if done := strings.Count(out, "\n"); expired < 10 || done+expired != 100 || !strings.Contains(bad, "row-0000") {
			t.Errorf("%d done, %d expired", done, expired)
		}
		if b := p.get("/v1/batches/" + frozen).json(t); b["status"] != "expired" {
			t.Errorf("the frozen one: %v", b)
		}
	})
}

func TestAnUnknownDialectIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := simulator.New(simulator.Config{Dialect: "esperanto"}); err == nil {
		t.Error("it was taken")
	}
}
