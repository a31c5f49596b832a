package doubleword_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// stage is a provider in a bubble of fake time that answers when a test says so.
type stage struct {
	mu    sync.Mutex
	came  []string                 // "<key> <method> <path>", in the order in which calls came
	at    []time.Time              // and when
	gates map[string]chan struct{} // paths that wait
	drips map[string]chan struct{} // paths whose body waits
	said  map[string]refusal       // paths that are refused
	now   int                      // calls under way
	most  int
}

type refusal struct {
	status     int
	retryAfter string
	text       string
}

func newStage() *stage {
	return &stage{gates: map[string]chan struct{}{}, drips: map[string]chan struct{}{}, said: map[string]refusal{}}
}

// hold makes calls of a path wait until the returned function is called.
func (s *stage) hold(path string) (open func()) { return s.gate(s.gates, path) }

// drip makes bodies of a path wait after their first line.
func (s *stage) drip(path string) (open func()) { return s.gate(s.drips, path) }

func (s *stage) gate(gates map[string]chan struct{}, path string) (open func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	gates[path] = gate
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(gates, path)
		close(gate)
	})
}

func (s *stage) refuse(path string, r refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said[path] = r
}

// RoundTrip is one call.
func (s *stage) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	gate, drip, refused := s.enter(r, path)
	defer s.leave()
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	if err := wait(r.Context(), gate); err != nil {
		return nil, err
	}
	out := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r}
	switch {
	case refused.status != 0:
		out.StatusCode = refused.status
		out.Header.Set("Retry-After", refused.retryAfter)
		out.Body = io.NopCloser(strings.NewReader(refused.text))
	case strings.HasSuffix(path, "/content"):
		out.Body = &dripping{ctx: r.Context(), gate: drip, rest: strings.NewReader("{}\n")}
	default:
		out.Body = io.NopCloser(strings.NewReader(`{"id":"x","object":"batch","data":[],"status":"in_progress"}`))
	}
	return out, nil
}

func (s *stage) enter(r *http.Request, path string) (gate, drip chan struct{}, refused refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer sk-planted-")
	s.came = append(s.came, key+" "+r.Method+" "+path)
	s.at = append(s.at, time.Now())
	s.now++
	s.most = max(s.most, s.now)
	return s.gates[path], s.drips[path], s.said[path]
}

func (s *stage) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
}

// calls are those that came so far.
func (s *stage) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.came...)
}

func wait(ctx context.Context, gate chan struct{}) error {
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dripping is a body that waits at its gate.
type dripping struct {
	ctx  context.Context //nolint:containedctx // a body stands for its request
	gate chan struct{}
	rest io.Reader
}

func (d *dripping) Read(p []byte) (int, error) {
	if err := wait(d.ctx, d.gate); err != nil {
		return 0, err
	}
	return d.rest.Read(p)
}

func (d *dripping) Close() error { return nil }

// play is a budget, the provider and clients of it, in a bubble.
type play struct {
	t      *testing.T
	stage  *stage
	budget *doubleword.Budget
	group  sync.WaitGroup
}

// inPlay runs test in a bubble. Whatever the test started has to end with it.
func inPlay(t *testing.T, c doubleword.BudgetConfig, test func(p *play)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		budget, err := doubleword.NewBudget(c)
		if err != nil {
			t.Fatal(err)
		}
		p := &play{t: t, stage: newStage(), budget: budget}
		test(p)
		p.group.Wait()
		for _, s := range budget.Stats() {
			if s.InFlight != 0 || s.Waiting != 0 {
				t.Errorf("afterwards: %+v", s)
			}
		}
	})
}

func (p *play) client(key string) *doubleword.Client {
	p.t.Helper()
	c, err := doubleword.New(doubleword.Config{
		BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("sk-planted-" + key), Transport: p.stage, Budget: p.budget, RetryTimeout: -1,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// start runs calls one after the other beside the test, each once the one before has come as far as it can.
func (p *play) start(calls ...func()) {
	for _, call := range calls {
		p.group.Go(call)
		synctest.Wait()
	}
}

func (p *play) poll(c *doubleword.Client, id string) func() {
	return func() {
		if _, err := c.Batch(p.t.Context(), id); err != nil {
			p.t.Errorf("poll %s: %v", id, err)
		}
	}
}

// collect reads a file to its end.
func (p *play) collect(c *doubleword.Client, id string) func() {
	return func() {
		content, err := c.Content(p.t.Context(), id, doubleword.ContentQuery{})
		if err != nil {
			p.t.Errorf("collect %s: %v", id, err)
			return
		}
		_, _ = io.Copy(io.Discard, content.Body)
		_ = content.Body.Close()
	}
}

func (p *play) upload(c *doubleword.Client) func() {
	return func() {
		_, err := c.UploadFile(p.t.Context(), "rows", func(w io.Writer) error { _, err := io.WriteString(w, "{}\n"); return err })
		if err != nil {
			p.t.Errorf("upload: %v", err)
		}
	}
}

func nothing(io.Writer) error { return nil }
