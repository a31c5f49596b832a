package integration_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const (
	queue     = "default"
	storeSize = 2 << 30 // of each server; its files are sparse
	patience  = 90 * time.Second
)

// quick are settings for a provider that has no hours to wait for.
func quick() app.Settings {
	return app.Settings{
		CreateTimeout: 2 * time.Second, QuietPeriod: 500 * time.Millisecond,
		PollFloor: 100 * time.Millisecond, PollCeiling: 500 * time.Millisecond, Patience: 30 * time.Second,
		MissingGrace: 200 * time.Millisecond, CancelGrace: 200 * time.Millisecond,
		SweepInterval: 500 * time.Millisecond, DrainTimeout: 5 * time.Second,
	}
}

// world is what outlives a stop of batchbus.
type world struct {
	t       *testing.T
	options app.LocalOptions
	// replicas is how many of each service run.
	replicas int
	// admin is the admin address of the services; empty: none.
	admin    string
	provider *provider // nil: the simulator that batchbus run brings along, which stops with the stack
}

// newWorld has a provider of its own, configured for the test.
func newWorld(t *testing.T, config simulator.Config) *world {
	t.Helper()
	p := newProvider(t, config)
	return &world{t: t, replicas: 1, provider: p, options: app.LocalOptions{
		Dir: t.TempDir(), MaxStore: storeSize, BaseURL: p.baseURL, Log: logTo(t), Settings: quick(),
		Keys: map[string]doubleword.Secret{app.DefaultKey: doubleword.NewSecret("integration")},
	}}
}

// newLocalWorld is what batchbus run has: the simulator below the data directory.
func newLocalWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, replicas: 1, options: app.LocalOptions{
		Dir: t.TempDir(), MaxStore: storeSize, Simulate: true, Log: logTo(t), Settings: quick(),
	}}
}

func logTo(t *testing.T) zerolog.Logger {
	t.Helper()
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
}

// stack is batchbus, running.
type stack struct {
	t       *testing.T
	local   *app.Local
	bus     *app.Bus
	store   *jetstore.Store
	nats    *nats.Conn
	js      jetstream.JetStream
	cancel  context.CancelFunc
	served  chan error
	admin   string
	runs    int
	stopped bool
	// stopOne ends one of several replicas and waits for it, once.
	stopOne func()
	// abandoned: the services may end with work in flight, as a killed process does.
	abandoned bool
}

func (w *world) start() *stack {
	w.t.Helper()
	local, err := app.OpenLocal(w.t.Context(), w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	s := &stack{t: w.t, local: local, runs: w.replicas, admin: w.admin, served: make(chan error, w.replicas)}
	w.t.Cleanup(s.stop)
	ctx, cancel := context.WithCancel(w.t.Context())
	s.cancel = cancel
	for range w.replicas {
		replica, end := context.WithCancel(ctx)
		s.stopOne = func() {
			end()
			s.runs--
			if err := <-s.served; err != nil {
				s.t.Errorf("run: %v", err)
			}
		}
		s.run(replica, w.replicas > 1)
	}
	s.connect()
	return s
}

// run runs one replica of each service, and returns once all of them run.
func (s *stack) run(ctx context.Context, shared bool) {
	s.t.Helper()
	ready, failed := make(chan struct{}), make(chan struct{})
	options := s.local.Options()
	options.Failpoints = failpoint.NewRegistry(func(p failpoint.Passage) {
		if !failpoint.Known(p.Point) {
			s.t.Errorf("the table of failpoints has no %s", p.Point)
		}
	})
	options.Admin, options.Ready = s.admin, func() { close(ready) }
	if shared {
		options.HandoffDelay = 200 * time.Millisecond
	}
	go func() {
		err := app.Run(ctx, options)
		close(failed)
		s.served <- err
	}()
	select {
	case <-ready:
	case <-failed:
		s.t.Fatal("the services did not start")
	}
}

func (s *stack) connect() {
	s.t.Helper()
	var err error
	if s.bus, err = s.local.Connect("test"); err != nil {
		s.t.Fatal(err)
	}
	if s.nats, err = s.local.Options().Dial("test"); err != nil {
		s.t.Fatal(err)
	}
	if s.store, err = jetstore.Open(s.nats); err != nil {
		s.t.Fatal(err)
	}
	s.js = s.store.JetStream()
}

// stop ends everything but what lies in the data directory. A second call does nothing.
func (s *stack) stop() {
	s.t.Helper()
	if s.stopped {
		return
	}
	s.stopped = true
	s.cancel()
	for range s.runs {
		if err := <-s.served; err != nil && !s.abandoned {
			s.t.Errorf("run: %v", err)
		}
	}
	if s.nats != nil {
		s.nats.Close()
	}
	if s.bus != nil {
		s.bus.Close()
	}
	if err := s.local.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
}

// ledger is what the provider says was done to it.
func (s *stack) ledger() simulator.Ledger {
	s.t.Helper()
	base := strings.TrimSuffix(s.local.Options().BaseURL, "/v1")
	reply, err := http.Get(base + "/_simulator/ledger")
	if err != nil {
		s.t.Fatal(err)
	}
	defer reply.Body.Close()
	var l simulator.Ledger
	if err := json.NewDecoder(reply.Body).Decode(&l); err != nil {
		s.t.Fatal(err)
	}
	return l
}

// open opens a job whose batches are small.
func (s *stack) open(job string, maxRows int) {
	s.t.Helper()
	policy := events.DefaultPolicy()
	policy.MaxRowsPerBatch = maxRows
	if _, err := s.bus.Jobs.Open(s.t.Context(), queue, job, jobs.Options{Policy: policy}); err != nil {
		s.t.Fatal(err)
	}
}

// send publishes one message as any NATS client would.
func (s *stack) send(subject, payload string, headers ...string) {
	s.t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(payload)
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	if _, err := s.js.PublishMsg(s.t.Context(), m); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stack) seal(job string) {
	s.t.Helper()
	s.send(events.RequestSubject(queue, job), "", events.HeaderSeal, "true")
}
