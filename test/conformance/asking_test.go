package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// asking is one run against one server: how to ask, and what the run has made so far.
type asking struct {
	settings
	client *doubleword.Client
	http   *http.Client
	token  string // unique to the run: in every name and in the metadata
	made   []string

	input         doubleword.File
	created       reply // of the first create
	batch, second doubleword.Batch
	early         reply // first read of the output
	lines         map[string][]doubleword.Line
	output        reply
}

func newAsking(t *testing.T, s settings) *asking {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	client, err := doubleword.New(doubleword.Config{BaseURL: s.baseURL, Key: doubleword.NewSecret(s.key), RetryTimeout: s.settle})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.CloseIdleConnections(); transport.CloseIdleConnections() })
	return &asking{
		settings: s, client: client, http: &http.Client{Transport: transport, Timeout: 5 * time.Minute},
		token: fmt.Sprintf("conformance-%d", time.Now().UnixNano()),
	}
}

// reply is one answer by plain HTTP.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

func (r reply) String() string {
	if r.err != nil {
		return r.err.Error()
	}
	return fmt.Sprintf("%d %s %s", r.status, r.header.Get("Content-Type"), r.body)
}

// field reads one member of a JSON object.
func (r reply) field(name string) any {
	var object map[string]any
	if json.Unmarshal([]byte(r.body), &object) != nil {
		return nil
	}
	return object[name]
}

func (a *asking) get(ctx context.Context, path string) reply {
	return a.send(ctx, http.MethodGet, path, a.key, "", nil)
}

// send repeats what is safe to repeat while the server says that it is busy.
func (a *asking) send(ctx context.Context, method, path, key, contentType string, body []byte) reply {
	for attempt := 0; ; attempt++ {
		r := a.once(ctx, method, path, key, contentType, body)
		busy := r.err != nil || r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError
		if !busy || attempt == 3 || method == http.MethodPost {
			return r
		}
		if !pause(ctx, a.interval) {
			return r
		}
	}
}

func (a *asking) once(ctx context.Context, method, path, key, contentType string, body []byte) reply {
	r, err := http.NewRequestWithContext(ctx, method, a.baseURL+path, bytes.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := a.http.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, body: string(text), err: err}
}

// upload sends a file as it is; what the server keeps is deleted in the end.
func (a *asking) upload(ctx context.Context, name, rows string) reply {
	var buf bytes.Buffer
	form := multipart.NewWriter(&buf)
	_ = form.WriteField("purpose", "batch")
	part, _ := form.CreateFormFile("file", a.token+"-"+name+".jsonl")
	_, _ = io.WriteString(part, rows)
	_ = form.Close()
	r := a.send(ctx, http.MethodPost, "/files", a.key, form.FormDataContentType(), buf.Bytes())
	if id, ok := r.field("id").(string); ok && r.status < 300 {
		a.made = append(a.made, id)
	}
	return r
}

// settled asks until the answer is yes or the time to settle is over.
func (a *asking) settled(ctx context.Context, ask func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, a.settle)
	defer cancel()
	for !ask() {
		if !pause(ctx, a.interval) {
			return false
		}
	}
	return true
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// row is one chat row; extra goes into its body.
func (a *asking) row(customID, extra string) string {
	id, _ := json.Marshal(customID) //nolint:errchkjson // a string
	return fmt.Sprintf(`{"custom_id":%s,"method":"POST","url":"/v1/chat/completions","body":{"model":%q,"max_tokens":%d,"messages":[{"role":"user","content":"Say hello."}]%s}}`,
		id, a.model, maxTokens, extra) + "\n"
}

// customIDs are those of the rows that should succeed; the first has 64 bytes, all printable ASCII.
func (a *asking) customIDs() []string {
	odd := `a b~"quoted"\back<tag>&amp;'%s{}[]#?=+` + "`|"
	ids := []string{odd + strings.Repeat("x", 64-len(odd))}
	for i := 1; i < goodRows; i++ {
		ids = append(ids, fmt.Sprintf("row-%d", i))
	}
	return ids
}

const badID = "refused-by-the-model"

// rows are those of both batches: the last one asks for what every model server refuses.
func (a *asking) rows() string {
	var b strings.Builder
	for _, id := range a.customIDs() {
		b.WriteString(a.row(id, ""))
	}
	b.WriteString(a.row(badID, `,"temperature":99`))
	return b.String()
}

// content reads lines of a file by plain HTTP.
func (a *asking) content(ctx context.Context, fileID, query string) reply {
	return a.get(ctx, "/files/"+fileID+"/content"+query)
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// headers are the two that tell where content ends.
func (r reply) headers() string {
	return fmt.Sprintf("%d lines, X-Incomplete %q, X-Last-Line %q", len(linesOf(r.body)), r.header.Get("X-Incomplete"), r.header.Get("X-Last-Line"))
}

// tells compares both headers and the number of lines; "" means absent.
func (r reply) tells(lines int, incomplete, last string) finding {
	ok := r.status == http.StatusOK && len(linesOf(r.body)) == lines && r.header.Get("X-Incomplete") == incomplete && r.header.Get("X-Last-Line") == last
	return judged(ok, "%s", r.headers())
}
