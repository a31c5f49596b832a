package collector_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// hanging is a provider whose downloads of files named hung bring nothing, for as long as they are waited for.
type hanging struct{ lines func() string }

// RoundTrip implements http.RoundTripper.
func (h hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	status, answer := http.StatusOK, `{"id":"remote","object":"batch","status":"completed","request_counts":{"total":2,"completed":2,"failed":0}}`
	switch {
	case strings.Contains(r.URL.Path, "/files/hung"):
		<-r.Context().Done()
		return nil, r.Context().Err()
	case strings.Contains(r.URL.Path, "/files/out"):
		answer = h.lines()
	case strings.Contains(r.URL.Path, "/files/"):
		answer = ""
	case strings.HasSuffix(r.URL.Path, "/analytics"):
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// hangBatches adds ended batches whose files hang.
func (w *world) hangBatches(n int) {
	w.t.Helper()
	for i := range n {
		b := jobs.Batch{Batch: w.batch().Batch}
		b.N, b.ProviderBatchID = strconv.Itoa(i+2), fmt.Sprint("hung-batch", i)
		b.OutputFileID, b.ErrorFileID = fmt.Sprint("hung-out", i), fmt.Sprint("hung-err", i)
		b.State, b.Status, b.Counts = events.BatchFinished, "completed", events.Counts{Total: 2, Completed: 2}
		change := jobs.NewChange(time.Now())
		change.Batch(&b, events.BatchIsFinished)
		w.ok(w.jobs.Commit(w.ctx(), change))
	}
}

func TestBatchesWhoseDownloadsHangDoNotKeepAnotherWaiting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hung  int
		calls int
		hint  bool // else the sweep finds the healthy one
		most  time.Duration
	}{
		"more than there are workers":            {9, 0, true, 5 * time.Second},
		"more than there are places of calls":    {20, 0, true, 20 * time.Second},
		"a small budget":                         {6, doubleword.MinMaxCalls, true, 40 * time.Second},
		"found by the sweep, as many as workers": {4, 0, false, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(2), func(w *world) {
				budget, err := doubleword.NewBudget(doubleword.BudgetConfig{MaxCalls: c.calls})
				w.ok(err)
				w.answers(0, 1)
				client, err := doubleword.New(doubleword.Config{
					BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("k"), Budget: budget,
					Transport: hanging{lines: func() string { return strings.Join(w.out.lines, "\n") + "\n" }},
				})
				w.ok(err)
				w.hangBatches(c.hung)
				s := w.service(func(conf *collector.Config) {
					conf.Provider = func(string) (collector.Provider, bool) { return client, true }
					conf.SweepInterval = time.Hour
				})
				defer w.finishBeside(s, c.hint)()
				begin := time.Now()
				for w.batch().State != events.BatchSettled {
					pass(100 * time.Millisecond)
					if time.Since(begin) > 3*time.Minute {
						t.Fatal("the healthy batch is not settled after three minutes")
					}
				}
				if waited := time.Since(begin); waited > c.most {
					t.Errorf("the healthy batch waited for %s", waited)
				}
			})
		})
	}
}

// finishBeside ends the healthy batch while the others are collected: by hints, since the one sweep has seen it running, or by one sweep alone.
func (w *world) finishBeside(s *collector.Service, hints bool) (stop func()) {
	w.t.Helper()
	if hints {
		stop = w.run(s)
		pass(time.Second / 2)
		w.finish("completed", 2, 0)
		return stop
	}
	w.finish("completed", 2, 0)
	swept := make(chan error, 1)
	go func() { swept <- s.Sweep(w.ctx()) }()
	return func() { w.ok(<-swept) }
}
