package poller_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/poller"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

const (
	queue = "default"
	job   = "nightly"
	key   = "main"
	busID = "BUS7"
	list  = "GET /v1/batches"
	get   = "GET /v1/batches/{id}"
)

// world is a bus and a simulated provider in fake time.
type world struct {
	t      *testing.T
	f      *jetstoretest.Fixture
	jobs   *jobs.Store
	sim    *simulator.Simulator
	front  atomic.Pointer[http.Handler] // what the client talks to: the simulator, unless a test put something before it
	client *doubleword.Client
	file   string
}

// inWorld runs test in a world whose batches take an hour.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		w := &world{t: t, f: f, jobs: jobs.New(f.Store)}
		var err error
		w.sim, err = simulator.New(simulator.Config{Latency: time.Hour})
		w.ok(err)
		defer w.sim.Close()
		w.talkTo(w.sim)
		w.client, err = doubleword.New(doubleword.Config{
			BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("sk-test"), RetryTimeout: -1,
			Transport: simulator.Transport{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { (*w.front.Load()).ServeHTTP(rw, r) })},
		})
		w.ok(err)
		file, err := w.client.UploadFile(t.Context(), "rows.jsonl", func(to io.Writer) error {
			_, err := io.WriteString(to, `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"hi"}]}}`+"\n")
			return err
		})
		w.ok(err)
		w.file = file.ID
		test(w)
	})
}

// talkTo puts a handler in the provider's place.
func (w *world) talkTo(h http.Handler) { w.front.Store(&h) }

// remote creates a batch at the provider, for a path of the given bus.
func (w *world) remote(bus, n string) doubleword.Batch {
	w.t.Helper()
	b, err := w.client.CreateBatch(w.ctx(), doubleword.NewBatch{
		InputFileID: w.file, Endpoint: "/v1/chat/completions", CompletionWindow: "24h",
		Metadata: map[string]string{"batchbus": strings.Join([]string{bus, queue, job, n, ""}, "/")},
	})
	w.ok(err)
	return b
}

// submit makes batches at the provider and the states of them; the first poll will have news of each.
func (w *world) submit(numbers ...string) {
	w.t.Helper()
	w.submitAs(func(*events.Batch) {}, numbers...)
}

func (w *world) submitAs(edit func(*events.Batch), numbers ...string) {
	w.t.Helper()
	change := jobs.NewChange(time.Now())
	for _, n := range numbers {
		b, remote := w.planned(n), w.remote(busID, n)
		b.State, b.ProviderBatchID = events.BatchSubmitted, remote.ID
		edit(&b.Batch)
		change.Batch(&b)
	}
	w.ok(w.jobs.Commit(w.ctx(), change))
}

// upTo are the names of so many batches.
func upTo(n int) (numbers []string) {
	for i := range n {
		numbers = append(numbers, strconv.Itoa(i+1))
	}
	return numbers
}

func (w *world) planned(n string) jobs.Batch {
	now := time.Now()
	return jobs.Batch{Batch: events.Batch{Queue: queue, Job: job, N: n, Key: key, Rows: 1, SinceAt: now, SubmittedAt: &now}}
}

// store stores a batch's first state.
func (w *world) store(n string, edit func(*events.Batch)) {
	w.t.Helper()
	b := w.planned(n)
	edit(&b.Batch)
	change := jobs.NewChange(time.Now())
	change.Batch(&b)
	w.ok(w.jobs.Commit(w.ctx(), change))
}

// config is of a poller for the simulator.
func (w *world) config() poller.Config { return w.configFor(w.client) }

func (w *world) configFor(p poller.Provider) poller.Config {
	return poller.Config{
		Bus: w.f.Store, Jobs: w.jobs, Log: zerolog.Nop(), BusID: busID, Keys: []string{key},
		Provider: func(name string) (poller.Provider, bool) { return p, name == key },
	}
}

// process is a poller that runs.
type process struct {
	w    *world
	stop context.CancelFunc
	done chan error
}

// run starts a poller.
func (w *world) run(c poller.Config) *process {
	w.t.Helper()
	s, err := poller.New(c)
	w.ok(err)
	ctx, stop := context.WithCancel(w.ctx())
	p := &process{w: w, stop: stop, done: make(chan error, 1)}
	go func() { p.done <- s.Run(ctx) }()
	return p
}

// end stops the poller and waits for it.
func (p *process) end() {
	p.w.t.Helper()
	p.stop()
	p.w.ok(<-p.done)
}

// during runs a poller for some time.
func (w *world) during(d time.Duration) {
	w.t.Helper()
	p := w.run(w.config())
	pass(d)
	p.end()
}

// pass lets fake time go by.
func pass(d time.Duration) { <-time.NewTimer(d).C }

func (w *world) batch(n string) jobs.Batch {
	w.t.Helper()
	b, err := w.jobs.Batch(w.ctx(), queue, job, n)
	w.ok(err)
	return b
}

// told counts the events of a kind, by batch.
func (w *world) told(kind events.Kind) map[string]int {
	w.t.Helper()
	n := map[string]int{}
	for m, err := range w.f.Store.Read(w.ctx(), jetstore.StreamJobs, events.PrefixEvents+string(kind)+".>", 1) {
		w.ok(err)
		e, err := events.ParseEvent(m.Data)
		w.ok(err)
		n[e.Batch]++
	}
	return n
}

// calls is how often the provider was called on a route.
func (w *world) calls(route string) int { return w.sim.Ledger().Calls[route] }

func (w *world) ctx() context.Context { return w.t.Context() }

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) want(what string, got, want any) {
	w.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
