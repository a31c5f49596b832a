package chaos_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

// agedJob is the job of every test in which the bus goes back in time.
const agedJob = "aged"

// aged is a deployment whose bus can be put back to how it was: a nats-server's store is copied while it does not run, and put back
// while it does not run. That is an operator's restore; it is no power cut, after which the streams need not fit each other.
type aged struct {
	*rig.Deployment
	t     *testing.T
	store string
}

// deployAged starts a deployment on one nats-server.
func deployAged(t *testing.T, s rig.Shape) *aged {
	t.Helper()
	a := &aged{Deployment: rig.New(t, s), t: t, store: filepath.Join(t.TempDir(), "store")}
	address := rig.FreeAddress(t)
	config := filepath.Join(t.TempDir(), "nats.conf")
	text := fmt.Sprintf("listen: %q\nmax_payload: 8MB\njetstream: {store_dir: %q, max_memory_store: 64MB}\n", address, a.store)
	a.must(os.WriteFile(config, []byte(text), 0o600))
	a.Bus, a.Direct.NATS = rig.Launch(t, "nats-server", nil, "-c", config), "nats://"+address
	a.Nodes = []*rig.Process{a.Bus}
	a.Open()
	a.StartProvider()
	a.StartServices()
	return a
}

func (a *aged) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// keep copies the store as it is now, the server being away for that, and returns how to go back to it, the server
// having been ended by end.
func (a *aged) keep() (goBack func(end func())) {
	a.t.Helper()
	kept := filepath.Join(a.t.TempDir(), "copy")
	a.Bus.Stop()
	a.must(os.CopyFS(kept, os.DirFS(a.store)))
	a.Bus.Start()
	return func(end func()) {
		a.t.Helper()
		end()
		a.must(os.RemoveAll(a.store))
		a.must(os.CopyFS(a.store, os.DirFS(kept)))
		a.Bus.Start()
	}
}

// kill ends the server by SIGKILL, stop by SIGTERM.
func (a *aged) kill() { a.Bus.Kill() }
func (a *aged) stop() { a.Bus.Stop() }

// pause holds all replicas of a service where they are; goOn lets them go on.
func (a *aged) pause(service string) (goOn func()) {
	a.t.Helper()
	for _, p := range a.Running[service] {
		p.Pause()
	}
	return func() {
		for _, p := range a.Running[service] {
			p.Resume()
		}
	}
}

// restart ends every service and returns how to start all of them again: services that remember nothing.
func (a *aged) restart() (start func()) {
	for _, replicas := range a.Running {
		for _, p := range replicas {
			p.Kill()
		}
	}
	return func() {
		for _, replicas := range a.Running {
			for _, p := range replicas {
				p.Start()
			}
		}
	}
}

// batches are the states of the job's batches.
func (a *aged) batches() []events.Batch {
	ctx := rig.Patiently(a.t)
	var all []events.Batch
	for e, err := range a.Store.Entries(ctx, events.BatchPrefix(rig.Queue, agedJob)) {
		a.must(err)
		b, err := events.ParseBatch(e.Value)
		a.must(err)
		all = append(all, b)
	}
	return all
}

// until waits until n batches are so.
func (a *aged) until(what string, n int, so func(b *events.Batch) bool) {
	a.t.Helper()
	rig.Eventually(a.t, fmt.Sprintf("%d batches are %s", n, what), func() bool {
		found := map[string]bool{}
		for _, b := range a.batches() {
			if so(&b) {
				found[b.N] = true
			}
		}
		return len(found) == n
	})
}

// ingested tells whether all that was published to the job is ingested, its seal included.
func (a *aged) ingested() bool {
	return a.Stands(jetstore.StreamRows, events.RowsSubject(rig.Queue, agedJob)) && a.Count(jetstore.StreamRequests) == 0
}

// publishAged publishes the job as our own tools do; a repeat is harmless.
func (a *aged) publishAged(rows, models int) {
	a.t.Helper()
	a.Publish(agedJob, strings.NewReader(rig.Numbered(rows, models)))
}

// wantSound waits until the job is done and nothing is under way any more, and judges everything.
func (a *aged) wantSound(rows, models int) {
	a.t.Helper()
	a.Await(events.JobDone, agedJob)
	rig.Eventually(a.t, "nothing is under way", func() bool { return len(a.Waiting()) == 0 })
	want := expectation{dues: []due{{job: agedJob, published: rows, outcomes: map[string]int{"succeeded": rows}}}}
	for _, v := range judge(a.Look(), want) {
		a.t.Error(v)
	}
	a.WantAllSucceeded(agedJob, rows)
	a.WantPaid(models, rows)
	if audit := a.CLI("audit", agedJob, "--provider"); audit.Code != 0 {
		a.t.Errorf("audit ends with %d\n%s%s", audit.Code, audit.Stdout, audit.Stderr)
	}
}
