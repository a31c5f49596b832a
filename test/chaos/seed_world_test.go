package chaos_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/chaos/proxy"
	"github.com/batchbus/batchbus/test/rig"
)

// seedWorld is one deployment in a storm. Every replica has a way of its own to the bus; all have one to the provider, which runs in the
// test's process.
//
//	replica ──► proxy.Bus ──► nats-server        replica ──► proxy.Provider ──► simulator
type seedWorld struct {
	t        *testing.T
	plan     plan
	tally    *proxy.Tally
	d        *rig.Deployment
	buses    map[string]*proxy.Bus // by actor
	provider *proxy.Provider
	actors   map[string]*actor
}

// actor is a process to which things happen. Only the test's goroutine touches it.
type actor struct {
	*rig.Process
	down   bool // killed by a step, and not to be started before another
	paused bool // by a step
	froze  time.Time
}

// newSeedWorld starts everything, in fair weather.
func newSeedWorld(t *testing.T, p plan) *seedWorld {
	t.Helper()
	w := &seedWorld{t: t, plan: p, tally: &proxy.Tally{}, buses: map[string]*proxy.Bus{}, actors: map[string]*actor{}}
	w.d = rig.New(t, rig.Shape{Replicas: p.replicas, Services: seedFlags(), Ways: w.ways, Env: w.env})
	w.d.StartBus()
	w.d.Open()
	w.startProvider()
	w.d.StartServices()
	w.actors[busActor] = &actor{Process: w.d.Bus}
	for service, replicas := range w.d.Running {
		for i, p := range replicas {
			w.actors[actorName(service, i)] = &actor{Process: p}
		}
	}
	return w
}

func (w *seedWorld) startProvider() {
	sim, err := simulator.New(w.plan.fake)
	if err != nil {
		w.t.Fatal(err)
	}
	direct := httptest.NewServer(sim)
	w.t.Cleanup(func() {
		direct.CloseClientConnections()
		direct.Close()
		if err := sim.Close(); err != nil {
			w.t.Error(err)
		}
	})
	w.d.Direct.Provider = direct.URL
	w.provider = proxy.NewProvider(direct.URL, w.plan.provider, proxy.NewDice(w.plan.seed, "provider"), w.tally)
}

// ways puts proxies before a replica.
func (w *seedWorld) ways(service string, replica int, direct rig.Ways) rig.Ways {
	front := httptest.NewUnstartedServer(w.provider)
	front.Config.ErrorLog = silent()
	front.Start()
	w.t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return rig.Ways{NATS: w.proxied(w.t.Context(), actorName(service, replica), direct.NATS), Provider: front.URL}
}

// proxied is the URL of a new way to the bus.
func (w *seedWorld) proxied(ctx context.Context, name, url string) string {
	bus, err := proxy.NewBus(ctx, strings.TrimPrefix(url, "nats://"), w.plan.bus, proxy.NewDice(w.plan.seed, name), w.tally)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			w.t.Error(err)
		}
	})
	w.buses[name] = bus
	return "nats://" + bus.Address()
}

func (w *seedWorld) env(service string, replica int) []string {
	if service != "submitter" || w.plan.frozen[replica] == "" {
		return nil
	}
	return []string{"BATCHBUS_FAILPOINT=" + w.plan.frozen[replica]}
}

// weather begins the storm, or ends it.
func (w *seedWorld) weather(stormy bool) {
	for _, b := range w.buses {
		if stormy {
			b.Storm()
		} else {
			b.Calm()
		}
	}
	if stormy {
		w.provider.Storm()
	} else {
		w.provider.Calm()
	}
}

// publishers start publishing, each by a way of its own; wait returns when the bus has everything.
func (w *seedWorld) publishers(ctx context.Context) (wait func() error) {
	group, ctx := errgroup.WithContext(ctx)
	var ways [2]jetstream.JetStream
	for i := range ways {
		conn, err := nats.Connect(w.proxied(ctx, fmt.Sprintf("publisher-%d", i), w.d.Direct.NATS), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(conn.Close)
		if ways[i], err = jetstream.New(conn); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range w.plan.jobs {
		group.Go(func() error { return w.publish(ctx, &w.plan.jobs[i], ways) })
	}
	return group.Wait
}

// publish brings one job onto the bus: both publishers at once, then the seal, then what comes too late.
func (w *seedWorld) publish(ctx context.Context, j *seedJob, ways [2]jetstream.JetStream) error {
	begin := time.NewTimer(j.from)
	defer begin.Stop()
	select {
	case <-begin.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	both, inner := errgroup.WithContext(ctx)
	for i, messages := range j.publishers {
		both.Go(func() error { return send(inner, ways[i], j.name, messages, j.lasts) })
	}
	if err := both.Wait(); err != nil {
		return err
	}
	if j.name == rollingName {
		return send(ctx, ways[0], j.name, j.late, j.lasts)
	}
	if err := w.d.Client.Seal(ctx, rig.Queue, j.name, -1); err != nil {
		return err
	}
	return send(ctx, ways[0], j.name, j.late, j.lasts)
}

// counts are the rows of a job, or of all rolling ones, that have come to their end.
func (w *seedWorld) counts(job string) (results, letters int) {
	filter := job
	if job == rollingName {
		filter = "*"
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Second)
	defer cancel()
	for stream, n := range map[string]*int{jetstore.StreamResults: &results, jetstore.StreamDeadletters: &letters} {
		noun := map[string]string{jetstore.StreamResults: "results", jetstore.StreamDeadletters: "deadletters"}[stream]
		subjects, err := w.d.Store.SubjectCounts(ctx, stream, "batchbus."+noun+"."+rig.Queue+"."+filter+".>")
		if err != nil {
			return 0, 0
		}
		for subject := range subjects {
			if job != rollingName || rolling(strings.Split(subject, ".")[3]) {
				*n++
			}
		}
	}
	return results, letters
}

// sent tells whether a batch was made for every planned batch of every job.
func (w *seedWorld) sent() bool {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
	defer cancel()
	for e, err := range w.d.Store.Entries(ctx, "job.") {
		if err != nil {
			return false
		}
		if j, err := events.ParseJob(e.Value); err != nil || j.State == events.JobOpen {
			return false
		}
	}
	for e, err := range w.d.Store.Entries(ctx, "batch.") {
		if err != nil {
			return false
		}
		if b, err := events.ParseBatch(e.Value); err != nil || b.ProviderBatchID == "" && !b.State.Ended() {
			return false
		}
	}
	return true
}
