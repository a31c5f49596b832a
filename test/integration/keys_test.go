package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// The keys of two accounts, and one that is in no configuration at first.
const (
	keyDay   = "sk-account-of-the-day-5f1c"
	keyNight = "sk-account-of-the-night-a07e"
	keyLate  = "sk-account-that-comes-later-c3"
)

// accounts are several accounts at one provider, told apart by the bearer key as a real one does.
type accounts struct {
	byKey map[string]*simulator.Simulator
	mu    sync.Mutex
	lost  []string // calls of a batch or file that the account does not have
}

func newAccounts(t *testing.T, configs map[string]simulator.Config) (*accounts, string) {
	t.Helper()
	a := &accounts{byKey: map[string]*simulator.Simulator{}}
	for key, config := range configs {
		config.SweepInterval, config.Keys = 1, []string{key}
		fake, err := simulator.New(config)
		if err != nil {
			t.Fatal(err)
		}
		a.byKey[key] = fake
	}
	server := httptest.NewServer(a)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		for _, fake := range a.byKey {
			if err := fake.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return a, server.URL + "/v1"
}

func (a *accounts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fake := a.byKey[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if fake == nil {
		http.Error(w, `{"error":{"message":"invalid api key"}}`, http.StatusUnauthorized)
		return
	}
	fake.ServeHTTP(&statusTap{ResponseWriter: w, status: func(status int) {
		if status == http.StatusNotFound || status == http.StatusUnauthorized {
			a.mu.Lock()
			a.lost = append(a.lost, r.Method+" "+r.URL.Path)
			a.mu.Unlock()
		}
	}}, r)
}

type statusTap struct {
	http.ResponseWriter
	status func(int)
}

func (w *statusTap) WriteHeader(status int) { w.status(status); w.ResponseWriter.WriteHeader(status) }

func (w *statusTap) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// paths are the jobs that an account was made batches of.
func (a *accounts) paths(key string) (jobs []string) {
	for _, c := range a.byKey[key].Ledger().Creates {
		jobs = append(jobs, strings.Split(c.Metadata["batchbus"], "/")[2])
	}
	return jobs
}

func (s *stack) putQueue(name, policy string) {
	s.t.Helper()
	if _, err := s.bus.Client.PutQueue(s.t.Context(), events.PutQueue{Queue: name, Policy: json.RawMessage(policy)}); err != nil {
		s.t.Fatal(err)
	}
}

// publishTo publishes rows and the seal to any queue, without opening the job before.
func (s *stack) publishTo(name, job, jsonl string) {
	s.t.Helper()
	n, err := s.bus.Client.Publish(s.t.Context(), client.Input{Queue: name, Job: job, Rows: strings.NewReader(jsonl), Digest: "input"})
	if err == nil {
		err = s.bus.Client.Seal(s.t.Context(), name, job, n)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stack) awaitOf(kind events.Kind, name, job string) {
	s.t.Helper()
	s.await(jetstore.StreamEvents, events.EventSubject(kind, name, job, ">"), 1)
}

// succeeded counts the answered rows of a job.
func (s *stack) succeeded(name, job string) (n int) {
	s.t.Helper()
	for r, err := range s.bus.Client.Results(s.t.Context(), name, job, 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		if r.Outcome == events.Succeeded {
			n++
		}
	}
	return n
}

func TestABatchKeepsTheKeyThatMadeItWhenItsQueueGetsAnother(t *testing.T) {
	t.Parallel()
	a, url := newAccounts(t, map[string]simulator.Config{keyDay: {RowsPerSecond: 4}, keyNight: {}})
	w := newWorld(t, simulator.Config{})
	w.options.BaseURL = url
	w.options.Keys = map[string]doubleword.Secret{"day": doubleword.NewSecret(keyDay), "night": doubleword.NewSecret(keyNight)}
	s := w.start()
	s.putQueue("tenant", `{"key":"day"}`)
	jsonl, ids := grouped(8, 1)
	s.publishTo("tenant", "before", jsonl)
	s.awaitOf(events.BatchIsSubmitted, "tenant", "before")
	s.putQueue("tenant", `{"key":"night"}`)
	s.publishTo("tenant", "after", jsonl)
	s.awaitOf(events.JobDone, "tenant", "after")
	s.awaitOf(events.JobDone, "tenant", "before")
	for job, key := range map[string]string{"before": keyDay, "after": keyNight} {
		if paths := a.paths(key); len(paths) != 1 || paths[0] != job {
			t.Errorf("the account of job %s has batches of %v", job, paths)
		}
		if n := s.succeeded("tenant", job); n != len(ids) {
			t.Errorf("job %s: %d of %d rows are answered", job, n, len(ids))
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.lost) > 0 {
		t.Errorf("an account was asked for what another one has: %v", a.lost)
	}
}

func TestABatchOfAnUnknownKeyIsHeldBeforeItsUploadAndComesBackWithTheKey(t *testing.T) {
	t.Parallel()
	a, url := newAccounts(t, map[string]simulator.Config{keyDay: {}, keyLate: {}})
	w := newWorld(t, simulator.Config{})
	w.options.BaseURL = url
	w.options.Keys = map[string]doubleword.Secret{"default": doubleword.NewSecret(keyDay)}
	s := w.start()
	s.putQueue("tenant", `{"key":"late"}`)
	jsonl, ids := grouped(5, 1)
	s.publishTo("tenant", "waits", jsonl)
	s.awaitOf(events.BatchHeld, "tenant", "waits")
	b, err := s.bus.Jobs.Batch(t.Context(), "tenant", "waits", "1")
	if err != nil || b.Hold == nil || b.Hold.Code != events.HoldKeyMissing || !strings.Contains(b.Hold.Message, "late") || b.Key != "late" {
		t.Errorf("%+v, %v", b.Hold, err)
	}
	s.publish("others", jsonl) // of a queue with a key that is there
	s.awaitEvent(events.JobDone, "others")
	for key, fake := range a.byKey {
		for _, u := range fake.Ledger().Uploads {
			if strings.Contains(u.Filename, "waits") {
				t.Errorf("account %s was given the file of a batch without a key", key)
			}
		}
	}
	s.stop()
	w.options.Keys["late"] = doubleword.NewSecret(keyLate)
	s = w.start()
	s.awaitOf(events.BatchResumed, "tenant", "waits")
	s.awaitOf(events.JobDone, "tenant", "waits")
	if paths := a.paths(keyLate); len(paths) != 1 || s.succeeded("tenant", "waits") != len(ids) {
		t.Errorf("batches of %v, %d rows answered", paths, s.succeeded("tenant", "waits"))
	}
}

// awaitWhy waits until the first batch of a job says why it waits.
func (s *stack) awaitWhy(name, job string) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		b, err := s.bus.Jobs.Batch(s.t.Context(), name, job, "1")
		if err == nil && b.LastError != "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("it says nothing: %+v, %v", b, err)
		}
	}
}

// lockedBuffer takes log lines of many goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func TestNoKeyIsInAnyLogMetricOrMessage(t *testing.T) {
	t.Parallel()
	_, url := newAccounts(t, map[string]simulator.Config{keyDay: {FailureRate: 0.5}})
	w := watched(t)
	var log lockedBuffer
	w.options.BaseURL, w.options.Log = url, zerolog.New(&log).Level(zerolog.TraceLevel)
	w.options.Keys = map[string]doubleword.Secret{ // the provider takes the first alone
		"day": doubleword.NewSecret(keyDay), "night": doubleword.NewSecret(keyNight), "late": doubleword.NewSecret(keyLate),
	}
	s := w.start()
	jsonl, _ := grouped(6, 2)
	s.putQueue("tenant", `{"key":"day"}`)
	s.putQueue("refused", `{"key":"night"}`)
	s.publishTo("tenant", "done", jsonl)
	s.publishTo("refused", "waits", jsonl)
	s.awaitOf(events.JobDone, "tenant", "done")
	s.awaitOf(events.BatchIsPlanned, "refused", "waits")
	s.awaitWhy("refused", "waits")
	metrics, err := http.Get("http://" + s.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := io.ReadAll(metrics.Body)
	metrics.Body.Close()
	if err != nil || !bytes.Contains(shown, []byte("batchbus_")) {
		t.Fatalf("metrics: %.200s, %v", shown, err)
	}
	seen := []byte(nil)
	for _, stream := range []string{
		jetstore.StreamRows, jetstore.StreamResults, jetstore.StreamJobs, jetstore.StreamEvents, jetstore.StreamQueues, jetstore.StreamDeadletters,
		jetstore.StreamObjects,
	} {
		for m, err := range s.store.Read(t.Context(), stream, ">", 0) {
			if err != nil {
				t.Fatal(err)
			}
			seen = fmt.Appendf(seen, "%s %v %s\n", m.Subject, m.Header, m.Data)
		}
	}
	s.stop()
	for what, text := range map[string][]byte{"the streams": seen, "the metrics": shown, "the log": log.text.Bytes()} {
		for _, key := range []string{keyDay, keyNight, keyLate} {
			if bytes.Contains(text, []byte(key)) {
				t.Errorf("a key is in %s", what)
			}
		}
	}
	if !bytes.Contains(seen, []byte(`"key":"night"`)) || log.text.Len() == 0 {
		t.Errorf("nothing was looked at: %d bytes of messages, %d of log", len(seen), log.text.Len())
	}
}
