package collector_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// fakeProvider serves files by hand, with the faults that the simulator does not have.
type fakeProvider struct {
	mu    sync.Mutex
	batch doubleword.Batch
	err   error // of Batch
	files map[string]*fakeFile
	merge *fakeFile
	calls []string // "file skip limit"
	bills []bill   // what Analytics answers in turn, the last one for ever; none: there is no such route
	asked int      // how often
}

// fakeFile is one file: its lines, and what is wrong with it.
type fakeFile struct {
	lines      []string
	ignoreSkip bool
	skipTwice  bool  // it honours skip and offset, one after the other
	incomplete bool  // X-Incomplete says for ever that more comes
	overstate  int   // how many lines more than it sends X-Last-Line promises
	cutAfter   int   // bytes after which an unlimited body breaks off; 0: never
	cutClean   bool  // the break looks like an end
	err        error // of opening
}

func (p *fakeProvider) Batch(context.Context, string) (doubleword.Batch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.batch, p.err
}

func (p *fakeProvider) Content(_ context.Context, id string, q doubleword.ContentQuery) (*doubleword.Content, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, fmt.Sprintf("%s %d %d", id, q.Skip, q.Limit))
	return p.files[id].open(q)
}

func (p *fakeProvider) Results(_ context.Context, _ string, q doubleword.ContentQuery) (*doubleword.Content, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, fmt.Sprintf("merged %d %d", q.Skip, q.Limit))
	return p.merge.open(q)
}

// bill is one answer of Analytics.
type bill struct {
	doubleword.Analytics
	err error
}

func (p *fakeProvider) Analytics(context.Context, string) (doubleword.Analytics, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if len(p.bills) == 0 {
		return doubleword.Analytics{}, &doubleword.Error{Status: http.StatusNotFound, Class: doubleword.Permanent}
	}
	said := p.bills[0]
	if len(p.bills) > 1 {
		p.bills = p.bills[1:]
	}
	return said.Analytics, said.err
}

// change changes the provider while the service runs.
func (p *fakeProvider) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (f *fakeFile) open(q doubleword.ContentQuery) (*doubleword.Content, error) {
	if f.err != nil {
		return nil, f.err
	}
	if f.skipTwice {
		q.Skip *= 2
	}
	lines := f.lines
	if !f.ignoreSkip {
		lines = lines[min(q.Skip, len(lines)):]
	}
	if q.Limit > 0 {
		lines = lines[:min(q.Limit, len(lines))]
	}
	var body strings.Builder
	for _, line := range lines {
		body.WriteString(line + "\n")
	}
	content := &doubleword.Content{LastLine: q.Skip + len(lines), HasLastLine: true, Incomplete: f.incomplete, HasIncomplete: true}
	var r io.Reader = strings.NewReader(body.String())
	if q.Limit == 0 {
		content.LastLine += f.overstate
		if f.cutAfter > 0 && f.cutAfter < body.Len() {
			r = io.LimitReader(r, int64(f.cutAfter))
			if !f.cutClean {
				r = io.MultiReader(r, brokenReader{})
			}
		}
	}
	content.Body = io.NopCloser(r)
	return content, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func okLine(wireID, body string) string {
	return `{"id":"batch_req_` + wireID + `","custom_id":` + quote(wireID) +
		`,"response":{"status_code":200,"request_id":null,"body":` + body + `},"error":null}`
}

func failLine(wireID string) string {
	return `{"id":"r-` + wireID + `","custom_id":` + quote(wireID) + `,"response":null,"error":{"code":null,"message":` +
		quote(`{"type":"NonRetriableHttpStatus","details":{"status":400,"body":"{\"error\":{\"message\":\"too hot\",\"code\":\"bad_temperature\"}}"}}`) +
		`}}`
}

func answerBody(text string, tokens int) string {
	return fmt.Sprintf(`{"choices":[{"finish_reason":"stop","message":{"content":%s}}],"model":"m","usage":{"completion_tokens":%d,`+
		`"prompt_tokens":1,"total_tokens":%d}}`, quote(text), tokens, tokens+1)
}

func quote(s string) string { return string(events.AppendString(nil, s)) }
