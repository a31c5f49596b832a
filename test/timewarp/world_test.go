package timewarp_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

const queue = "default"

// world is a bus, a provider and the services between them, in fake time.
type world struct {
	*jetstoretest.Fixture
	t    *testing.T
	jobs *jobs.Store
	sim  *simulator.Simulator
	way  *way // to the provider
	bus  *slowBus
	// sweepInterval is that of all services.
	sweepInterval time.Duration
	pollFloor     time.Duration // 0: the default
	prices        *prices.Table // nil: the simulator's one price
	stop          func()        // ends the services that run and waits for them
}

// inWorld runs test while so many replicas of all services run.
func inWorld(t *testing.T, provider simulator.Config, replicas int, test func(w *world)) {
	t.Helper()
	inWorldOf(t, provider, replicas, nil, test)
}

// inWorldOf is inWorld; prepare, when set, is called before the services start.
func inWorldOf(t *testing.T, provider simulator.Config, replicas int, prepare, test func(w *world)) {
	t.Helper()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		sim, err := simulator.New(provider)
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		w := &world{Fixture: f, t: t, jobs: jobs.New(f.Store), sim: sim, way: newWay(sim), bus: &slowBus{server: f.Server}, sweepInterval: 20 * time.Minute}
		if prepare != nil {
			prepare(w)
		}
		w.start(replicas)
		defer func() { w.stop() }()
		test(w)
	})
}

// start runs so many replicas of all services.
func (w *world) start(replicas int) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, replicas)
	for range replicas {
		go func() { ended <- app.Run(ctx, w.options()) }()
	}
	running := replicas
	w.stop = func() {
		cancel()
		for ; running > 0; running-- {
			if err := <-ended; err != nil {
				w.t.Errorf("run: %v", err)
			}
		}
	}
}

// options are those of a deployment that sets nothing, but that jobs are searched for what lost its trigger only now and then: nothing
// loses it here, and a search a minute is most of what a day costs. There is no control API, which nobody asks here: its end drains
// subscriptions by timers that nats.go pools for all bubbles of the process (see jetstoretest).
func (w *world) options() app.Options {
	settings := app.DefaultSettings()
	settings.SweepInterval = w.sweepInterval
	settings.PollFloor = cmp.Or(w.pollFloor, settings.PollFloor)
	return app.Options{
		Services:   app.Names(),
		WithoutAPI: true,
		Dial: func(name string) (*nats.Conn, error) {
			return w.Server.Connect(nats.Name(name), nats.InProcessServer(w.bus))
		},
		BaseURL:   "http://localhost/v1",
		Keys:      map[string]doubleword.Secret{app.DefaultKey: doubleword.NewSecret("time")},
		Transport: w.way,
		Topology:  jetstore.Settings{KeepSizes: true},
		Settings:  settings,
		Prices:    cmp.Or(w.prices, prices.Simulated()),
		Log:       zerolog.Nop(),
	}
}

// pass lets fake time go by.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// publish publishes n rows in one message, to a job or, when it is empty, to the queue.
func (w *world) publish(job, prefix string, n int, headers ...string) {
	w.t.Helper()
	var rows strings.Builder
	for i := range n {
		fmt.Fprintf(&rows, `{"custom_id":"%s-%d","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"%d"}]}}`+"\n", prefix, i, i)
	}
	m := nats.NewMsg(events.RequestSubject(queue, job))
	m.Data = []byte(rows.String())
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	if _, err := w.Store.Publish(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
}

// count is how many messages stand below the filter.
func (w *world) count(stream, filter string) int {
	w.t.Helper()
	counts, err := w.Store.SubjectCounts(w.t.Context(), stream, filter)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(counts)
}

func (w *world) results(job string) int {
	w.t.Helper()
	return w.count(jetstore.StreamResults, events.ResultsFilter(queue, job))
}

// told are the events of a kind about a job, in order.
func (w *world) told(kind events.Kind, job string) (all []events.Event) {
	w.t.Helper()
	for m, err := range w.Store.Read(w.t.Context(), jetstore.StreamEvents, events.EventSubject(kind, queue, job, ">"), 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		e, err := events.ParseEvent(m.Data)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func (w *world) job(name string) jobs.Job {
	w.t.Helper()
	j, err := w.jobs.Job(w.t.Context(), queue, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}
