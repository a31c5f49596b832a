package collector_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// slowFiles is a provider whose files bring their headers, and then a byte after each pause, for ever.
type slowFiles struct {
	hanging

	pause time.Duration
}

// RoundTrip implements http.RoundTripper.
func (s slowFiles) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.hanging.RoundTrip(r)
	if err == nil && (strings.Contains(r.URL.Path, "/files/") || strings.HasSuffix(r.URL.Path, "/results")) {
		resp.Body = drip{r: r, pause: s.pause}
	}
	return resp, err
}

type drip struct {
	r     *http.Request
	pause time.Duration
}

// Read implements io.Reader.
func (d drip) Read(p []byte) (int, error) {
	timer := time.NewTimer(d.pause)
	defer timer.Stop()
	select {
	case <-d.r.Context().Done():
		return 0, d.r.Context().Err()
	case <-timer.C:
		p[0] = 'x'
		return 1, nil
	}
}

// Close implements io.Closer.
func (d drip) Close() error { return nil }

var _ io.ReadCloser = drip{}

func TestADownloadThatStandsStillIsShownWithinSecondsAndEndsWithAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pause time.Duration
		early bool // the batch ends while its output is being read
	}{
		"nothing after the headers":             {pause: 1000 * time.Hour},
		"a byte every twenty seconds":           {pause: 20 * time.Second},
		"a byte every twenty seconds, from ago": {pause: 20 * time.Second, early: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(2), func(w *world) {
				client, err := doubleword.New(doubleword.Config{
					BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("k"), RetryTimeout: -1,
					Transport: slowFiles{hanging: hanging{lines: func() string { return "" }}, pause: c.pause},
				})
				w.ok(err)
				s := w.service(func(conf *collector.Config) {
					conf.Provider = func(string) (collector.Provider, bool) { return client, true }
				})
				if c.early {
					w.edit(events.BatchProgress, func(b *events.Batch) { b.Counts = events.Counts{Total: 2, Completed: 1} })
				} else {
					w.finish("completed", 2, 0)
				}
				stop := w.run(s)
				if c.early {
					pass(4 * time.Second)
					w.finish("completed", 2, 0)
				}
				pass(11 * time.Second)
				b := w.batch()
				if b.Why != "waiting for the provider's answers" || !strings.Contains(b.LastError, "next to nothing has come since") {
					t.Errorf("after some seconds: why %q, last error %q", b.Why, b.LastError)
				}
				pass(30 * time.Second)
				if again := w.batch(); again.Revision != b.Revision {
					t.Errorf("the state was written again without news: %q %q", again.Why, again.LastError)
				}
				pass(time.Hour)
				b = w.batch()
				if b.Hold == nil || b.Hold.Code != events.HoldNeedsAttention || !strings.Contains(b.Hold.Message, doubleword.ErrIdle.Error()) {
					t.Errorf("after an hour: hold %+v, why %q, last error %q", b.Hold, b.Why, b.LastError)
				}
				stop()
			})
		})
	}
}

func TestAFileThatNeverEndsIsNotReadForEver(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		for i := range 5000 {
			w.out.lines = append(w.out.lines, okLine(fmt.Sprintf("9-nobody-%d", i), answerBody("x", 1)))
		}
		w.answers(0, 1) // behind all of them
		w.finish("completed", 2, 0)
		s := w.service(nil)
		pass(w.collect(s))
		if b := w.batch(); b.State != events.BatchFinished || !strings.Contains(b.LastError, "far more lines") {
			t.Errorf("%s: why %q, last error %q", b.State, b.Why, b.LastError)
		}
		pass(w.collect(s))
		if b := w.batch(); b.Hold == nil || b.Hold.Code != events.HoldNeedsAttention {
			t.Errorf("hold %+v", b.Hold)
		}
	})
}
