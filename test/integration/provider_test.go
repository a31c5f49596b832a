package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// provider is the simulator behind a wire tap: what it stores is canonical, as at the real provider, so only the tap knows the bytes that
// were sent.
type provider struct {
	t       *testing.T
	baseURL string
	fake    *simulator.Simulator

	// creating is closed when the first create arrives; each is then held back for slowCreates, and obeyed even if its caller has gone.
	creating    chan struct{}
	arrived     sync.Once
	slowCreates time.Duration

	// answer, when set, is the body that stands in the files in place of the simulator's, whose own are canonical.
	answer func(customID string) string
	// echo puts the body of the row as it was uploaded into its answer. It serves jobs of one batch, of one job in all.
	echo bool

	mu  sync.Mutex
	tap map[string]json.RawMessage // bodies by wire id, of every upload
}

func newProvider(t *testing.T, config simulator.Config) *provider {
	t.Helper()
	if config.SweepInterval == 0 {
		config.SweepInterval = 1 // nanosecond: who lists sees a finished batch at once
	}
	fake, err := simulator.New(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, fake: fake, tap: map[string]json.RawMessage{}, creating: make(chan struct{})}
	server := httptest.NewServer(p)
	p.baseURL = server.URL + "/v1"
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := fake.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return p
}

// ServeHTTP passes a call on, and keeps what an upload holds.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.URL.Path == "/v1/batches" {
		p.create(w, r)
		return
	}
	if (p.answer != nil || p.echo) && strings.HasSuffix(r.URL.Path, "/content") {
		p.rewrite(w, r)
		return
	}
	if r.Method != http.MethodPost || r.URL.Path != "/v1/files" {
		p.fake.ServeHTTP(w, r)
		return
	}
	var copied bytes.Buffer
	r.Body = io.NopCloser(io.TeeReader(r.Body, &copied))
	p.fake.ServeHTTP(w, r)
	p.keep(r.Header.Get("Content-Type"), &copied)
}

// create reads the whole call before it waits: a caller who goes away takes nothing back.
func (p *provider) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.arrived.Do(func() { close(p.creating) })
	if p.slowCreates > 0 {
		<-time.NewTimer(p.slowCreates).C
	}
	late := r.Clone(context.WithoutCancel(r.Context()))
	late.Body = io.NopCloser(bytes.NewReader(body))
	p.fake.ServeHTTP(w, late)
}

// rewrite replaces the body in each line of a file, and nothing else.
func (p *provider) rewrite(w http.ResponseWriter, r *http.Request) {
	recorded := httptest.NewRecorder()
	p.fake.ServeHTTP(recorded, r)
	var out []byte
	for line := range bytes.Lines(recorded.Body.Bytes()) {
		a := parseAnswer(p.t, line)
		out = append(out, bytes.Replace(line, a.Response.Body, []byte(p.answerTo(&a)), 1)...)
	}
	header := w.Header()
	maps.Copy(header, recorded.Header())
	header.Del("Content-Length")
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(out) // a client that has gone reads again
}

func (p *provider) answerTo(a *answerLine) string {
	if !p.echo {
		return p.answer(a.id())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return echoed(string(p.tap[a.CustomID]))
}

// echoed is the answer to a body, spelled as no encoder would.
func echoed(body string) string {
	return `{ "echo" : ` + body + ` ,"choices":[{"index":0, "finish_reason":"stop"}] }`
}

// answerLine is a line of an output file.
type answerLine struct {
	CustomID string `json:"custom_id"`
	Response struct {
		Body json.RawMessage `json:"body"`
	} `json:"response"`
}

func parseAnswer(t *testing.T, line []byte) answerLine {
	t.Helper()
	var a answerLine
	if err := json.Unmarshal(line, &a); err != nil {
		t.Errorf("output line: %v", err)
	}
	return a
}

// id is the row's own custom_id.
func (a *answerLine) id() string {
	_, id, _ := strings.Cut(a.CustomID, "~")
	return id
}

func (p *provider) keep(contentType string, body io.Reader) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		p.t.Errorf("upload: %v", err)
		return
	}
	parts := multipart.NewReader(body, params["boundary"])
	for {
		part, err := parts.NextPart()
		if err != nil {
			return // the end, or an upload that broke off
		}
		if part.FormName() != "file" {
			continue
		}
		data, _ := io.ReadAll(part)
		p.keepLines(data)
	}
}

func (p *provider) keepLines(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range bytes.Lines(data) {
		if line[len(line)-1] != '\n' {
			return // an upload that was refused before its end
		}
		var row struct {
			CustomID string          `json:"custom_id"`
			Body     json.RawMessage `json:"body"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			p.t.Errorf("uploaded line is no JSON: %v", err)
			continue
		}
		p.tap[row.CustomID] = row.Body
	}
}

// sent is the bodies that were uploaded, by custom_id; the test's ids must fit a wire id, and the job have one batch.
func (p *provider) sent() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := make(map[string]string, len(p.tap))
	for wire, body := range p.tap {
		_, id, _ := strings.Cut(wire, "~")
		sent[id] = string(body)
	}
	return sent
}

// answers is the bodies of the provider's own output files, by custom_id.
func (p *provider) answers() map[string]string {
	p.t.Helper()
	answers := map[string]string{}
	for _, created := range p.fake.Ledger().Creates {
		var batch struct {
			OutputFileID string `json:"output_file_id"`
		}
		if err := json.Unmarshal(p.get("/batches/"+created.BatchID), &batch); err != nil {
			p.t.Fatal(err)
		}
		for line := range bytes.Lines(p.get("/files/" + batch.OutputFileID + "/content")) {
			a := parseAnswer(p.t, line)
			answers[a.id()] = string(a.Response.Body)
		}
	}
	return answers
}

func (p *provider) get(path string) []byte {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.baseURL+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer integration")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		p.t.Fatalf("GET %s: status %d, %v", path, reply.StatusCode, err)
	}
	return data
}
