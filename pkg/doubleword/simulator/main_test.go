package simulator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is a simulator and a bare HTTP client of it.
type provider struct {
	t    *testing.T
	sim  *simulator.Simulator
	http http.Client
}

func start(t *testing.T, cfg simulator.Config) *provider {
	t.Helper()
	sim, err := simulator.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	return &provider{t: t, sim: sim, http: http.Client{Transport: simulator.Transport{Handler: sim}}}
}

type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v in %d %q", err, a.status, a.body)
	}
	return v
}

func (p *provider) send(r *http.Request) answer {
	p.t.Helper()
	if r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer key")
	}
	resp, err := p.http.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: string(body), err: err}
}

func (p *provider) call(method, path, body string) answer {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, "http://simulator"+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return p.send(r)
}

func (p *provider) get(path string) answer { p.t.Helper(); return p.call(http.MethodGet, path, "") }

// field is one part of an upload.
type field struct{ name, filename, value string }

func (p *provider) uploadFields(fields ...field) answer {
	p.t.Helper()
	var buf bytes.Buffer
	form := multipart.NewWriter(&buf)
	for _, f := range fields {
		header := map[string][]string{"Content-Disposition": {fmt.Sprintf(`form-data; name=%q`, f.name)}}
		if f.filename != "" {
			header["Content-Disposition"][0] += fmt.Sprintf(`; filename=%q`, f.filename)
		}
		part, err := form.CreatePart(header)
		if err == nil {
			_, err = io.WriteString(part, f.value)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		p.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://simulator/v1/files", &buf)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	return p.send(r)
}

func (p *provider) upload(rows string) string {
	p.t.Helper()
	a := p.uploadFields(field{"purpose", "", "batch"}, field{"file", "rows.jsonl", rows})
	if a.status != http.StatusCreated {
		p.t.Fatalf("upload: %d %s", a.status, a.body)
	}
	return a.json(p.t)["id"].(string)
}

// batchIDs are the three ids that a create returns.
type batchIDs struct{ id, output, errors string }

func createBody(fileID string) string {
	return `{"input_file_id":"` + fileID + `","endpoint":"/v1/chat/completions","completion_window":"24h","metadata":{"batchbus":"bus/q/job/1/"}}`
}

func (p *provider) create(fileID string) batchIDs {
	p.t.Helper()
	a := p.call(http.MethodPost, "/v1/batches", createBody(fileID))
	if a.status != http.StatusCreated {
		p.t.Fatalf("create: %d %s", a.status, a.body)
	}
	b := a.json(p.t)
	return batchIDs{b["id"].(string), b["output_file_id"].(string), b["error_file_id"].(string)}
}

// until polls the batch by id until done is true of it.
func (p *provider) until(id string, done func(b map[string]any) bool) map[string]any {
	p.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		b := p.get("/v1/batches/" + id).json(p.t)
		if done(b) {
			return b
		}
		select {
		case <-p.t.Context().Done():
			p.t.Fatalf("batch never got there: %v", b)
		case <-tick.C:
		}
	}
}

func (p *provider) untilStatus(id, status string) map[string]any {
	p.t.Helper()
	return p.until(id, func(b map[string]any) bool { return b["status"] == status })
}

func (p *provider) content(fileID, query string) answer {
	p.t.Helper()
	return p.get("/v1/files/" + fileID + "/content" + query)
}

func chatRow(id, extra string) string {
	return `{"custom_id":"` + id + `","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"tell me about ` + id + `"}]` + extra + `}}` + "\n"
}

func chatRows(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(chatRow(fmt.Sprintf("row-%04d", i), ""))
	}
	return b.String()
}

func lines(body string) []string {
	return strings.Split(strings.TrimSuffix(body, "\n"), "\n")
}
