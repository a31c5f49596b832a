package poller_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// troubled is a provider whose first answers are no answers.
type troubled struct {
	mu   sync.Mutex
	says []reply
	next http.RoundTripper
	at   []time.Time
}

func (t *troubled) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	t.at = append(t.at, time.Now())
	n := len(t.at)
	t.mu.Unlock()
	if n <= len(t.says) {
		return t.says[n-1].response()
	}
	return t.next.RoundTrip(r)
}

// reply is an answer without a body; status 0: none, but a reset.
type reply struct {
	status     int
	retryAfter string
}

func (s reply) response() (*http.Response, error) {
	if s.status == 0 {
		return nil, errors.New("connection reset by peer")
	}
	return &http.Response{StatusCode: s.status, Header: http.Header{"Retry-After": {s.retryAfter}}, Body: http.NoBody}, nil
}

// trouble puts answers before those of the simulator.
func (w *world) trouble(retry time.Duration, says ...reply) (*troubled, *doubleword.Client) {
	w.t.Helper()
	t := &troubled{says: says, next: simulator.Transport{Handler: w.sim}}
	client, err := doubleword.New(doubleword.Config{
		BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("sk-test"), Transport: t, RetryTimeout: retry,
	})
	w.ok(err)
	return t, client
}

// P63: 503, 429 with Retry-After 7 and a reset in a row end nothing, and the seven seconds are waited.
func TestP63TroubleWhilePollingIsWaitedForAndPollingGoesOn(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.submit("1")
		sick, client := w.trouble(0, reply{503, ""}, reply{429, "7"}, reply{})
		p := w.run(w.configFor(client))
		pass(3 * time.Hour)
		p.end()
		w.want("state", w.batch("1").State, events.BatchFinished)
		if waited := sick.at[2].Sub(sick.at[1]); waited < 7*time.Second {
			t.Errorf("asked again after %s", waited)
		}
		w.want("needs attention", w.told(events.BatchNeedsAttention), map[string]int{})
	})
}

func TestAListThatIsToldToWaitDelaysEveryPollOfItsKeyVisibly(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.submit("1")
				sick, client := w.trouble(-1, reply{code, "300"})
				p := w.run(w.configFor(client))
				pass(45 * time.Second)
				w.submit("2") // due at once, but the key waits
				pass(time.Minute)
				for _, n := range []string{"1", "2"} {
					b := w.batch(n)
					if !strings.Contains(b.Why, "asks to wait until") || b.NextTryAt == nil || b.NextTryAt.Before(sick.at[0].Add(5*time.Minute)) || b.LastError == "" {
						t.Errorf("batch %s: why %q, next try %v, last error %q", n, b.Why, b.NextTryAt, b.LastError)
					}
				}
				pass(10 * time.Minute)
				p.end()
				if waited := sick.at[1].Sub(sick.at[0]); waited < 5*time.Minute || waited > 6*time.Minute {
					t.Errorf("asked again after %s", waited)
				}
				for _, n := range []string{"1", "2"} {
					if b := w.batch(n); b.PolledAt == nil || b.LastError != "" || b.NextTryAt != nil {
						t.Errorf("batch %s afterwards: %+v", n, b.Batch)
					}
				}
			})
		})
	}
}

// P64 for one batch is in TestWhatTheListDoesNotShowIsReadAlone, for a key in TestAListOutageIsOneCallAndEveryBatchSaysWhy.

func TestABatchThatTheProviderAsksToLeaveAloneDoesNotDelayTheOthers(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.submit("1", "3")
		w.store("2", func(b *events.Batch) { b.State, b.ProviderBatchID = events.BatchSubmitted, "bad" })
		asked := 0
		w.talkTo(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/batches/bad" {
				asked++
				rw.Header().Set("Retry-After", "1800")
				rw.WriteHeader(http.StatusTooManyRequests)
				return
			}
			w.sim.ServeHTTP(rw, r)
		}))
		w.during(2 * time.Hour)
		w.want("finished", w.told(events.BatchIsFinished), map[string]int{"1": 1, "3": 1})
		if asked == 0 || asked > 5 {
			t.Errorf("the bad one was asked for %d times", asked)
		}
	})
}
