package proxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/batchbus/batchbus/test/chaos/proxy"
)

const (
	createPath = "/v1/batches"
	whole      = `{"id":"0123456789"}`
)

// shop is a provider that counts what reaches it.
type shop struct {
	reached atomic.Int64
	arrived chan string // bodies
	proxy   *proxy.Provider
	tally   *proxy.Tally
	url     string
	client  http.Client
}

func open(t *testing.T, name string, faults proxy.ProviderFaults) *shop {
	t.Helper()
	s := &shop{arrived: make(chan string, 100), tally: &proxy.Tally{}}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.reached.Add(1)
		s.arrived <- string(body) + " " + r.Header.Get("Authorization")
		w.Header().Set("X-Kept", r.URL.RawQuery)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, whole)
	}))
	t.Cleanup(upstream.Close)
	s.proxy = proxy.NewProvider(upstream.URL, faults, proxy.NewDice(3, name), s.tally)
	s.proxy.Storm()
	front := httptest.NewServer(s.proxy)
	t.Cleanup(front.Close)
	t.Cleanup(s.proxy.Close)
	s.url = front.URL
	s.client.Transport = &http.Transport{DisableKeepAlives: true}
	return s
}

// call makes one call and returns all that came of it.
func (s *shop) call(t *testing.T, timeout time.Duration, path string) (status int, body string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path+"?a=b", strings.NewReader("ask"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer key")
	reply, err := s.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	if kept := reply.Header.Get("X-Kept"); reply.StatusCode == http.StatusCreated && kept != "a=b" {
		t.Errorf("the header says %q", kept)
	}
	text, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(text), err
}

func TestWhatBefallsACall(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]struct {
		reached int64
		fine    func(status int, body string, err error) bool
	}{
		proxy.ErrorBefore: {0, func(status int, _ string, err error) bool { return status >= 500 && err == nil }},
		proxy.ErrorAfter:  {1, func(status int, _ string, err error) bool { return status >= 500 && err == nil }},
		proxy.ResetBefore: {0, func(status int, _ string, err error) bool { return status == 0 && err != nil }},
		proxy.ResetAfter:  {1, func(status int, _ string, err error) bool { return status == 0 && err != nil }},
		proxy.ShortBody:   {1, func(_ int, body string, err error) bool { return err != nil && len(body) < len(whole) }},
		proxy.ShortWhole: {1, func(status int, body string, err error) bool {
			return status == http.StatusCreated && err == nil && len(body) < len(whole) && strings.HasPrefix(whole, body)
		}},
		proxy.Delayed: {1, func(status int, body string, err error) bool {
			return status == http.StatusCreated && err == nil && body == whole
		}},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := open(t, t.Name(), proxy.ProviderFaults{Calls: 1, Creates: 1, DelayMax: 300 * time.Millisecond, Kinds: []string{kind}})
			began := time.Now()
			if status, body, err := s.call(t, 5*time.Second, "/v1/files"); !want.fine(status, body, err) {
				t.Errorf("status %d, body %q, %v", status, body, err)
			}
			if kind == proxy.Delayed && time.Since(began) < 300*time.Millisecond/8 {
				t.Error("it was not delayed")
			}
			if got := s.reached.Load(); got != want.reached || s.tally.Counts()[kind] != 1 {
				t.Errorf("the provider was reached %d times; counted %v", got, s.tally.Counts())
			}
			s.proxy.Calm()
			if status, body, err := s.call(t, 5*time.Second, "/v1/files"); status != http.StatusCreated || body != whole || err != nil {
				t.Errorf("in fair weather: status %d, body %q, %v", status, body, err)
			}
		})
	}
}

func TestALateCreateArrivesAfterItsClientHasGivenUp(t *testing.T) {
	t.Parallel()
	const after = 200 * time.Millisecond
	s := open(t, t.Name(), proxy.ProviderFaults{Creates: 1, Late: 1, LateMin: after, LateMax: 2 * after})
	if _, _, err := s.call(t, 100*time.Millisecond, createPath); err == nil {
		t.Fatal("the client had an answer")
	}
	gone := time.Now()
	if s.reached.Load() != 0 {
		t.Fatal("the provider was reached before")
	}
	if body := <-s.arrived; body != "ask Bearer key" {
		t.Errorf("the provider got %q", body)
	}
	if waited := time.Since(gone); waited < after/2 {
		t.Errorf("it arrived %s after the client went", waited)
	}
	s.proxy.Settle()
	if counts := s.tally.Counts(); counts[proxy.LateCreate] != 1 || counts[proxy.LateBatch] != 1 {
		t.Errorf("counted %v", counts)
	}
}

func TestTheSameSeedHitsTheSameCalls(t *testing.T) {
	t.Parallel()
	first, again, other := hits(t, "provider"), hits(t, "provider"), hits(t, "another")
	if first != again {
		t.Errorf("the plans differ:\n%s\n%s", first, again)
	}
	if first == other {
		t.Error("proxies of different names have the same plan")
	}
	if fine := strings.Count(first, http.StatusText(http.StatusCreated)); fine == 0 || fine == 30 {
		t.Errorf("the plan is %s", first)
	}
}

// hits are the statuses of thirty calls under a plan of faults.
func hits(t *testing.T, name string) string {
	t.Helper()
	s := open(t, name, proxy.ProviderFaults{Calls: 0.4, Kinds: []string{proxy.ErrorBefore, proxy.ErrorAfter}})
	var plan strings.Builder
	for range 30 {
		status, _, err := s.call(t, 5*time.Second, "/v1/files/0190cafe-0000-7000-8000-000000000001")
		if err != nil {
			t.Fatal(err)
		}
		plan.WriteString(http.StatusText(status) + ",")
	}
	return plan.String()
}
