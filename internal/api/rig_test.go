package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/api"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// rig is a bus with replicas of the API.
type rig struct {
	t *testing.T
	*jetstoretest.Fixture
	jobs   *jobs.Store
	client *client.Client
}

func newRig(t *testing.T, replicas int) *rig {
	t.Helper()
	f := jetstoretest.Start(t)
	r := &rig{t, f, jobs.New(f.Store), client.New(f.Store)}
	for range replicas {
		r.replica()
	}
	return r
}

// replica runs one more, on a connection of its own, and returns how to stop it.
func (r *rig) replica() (stop func()) {
	r.t.Helper()
	return r.replicaOf(api.Config{})
}

func (r *rig) replicaOf(c api.Config) (stop func()) {
	r.t.Helper()
	conn, err := r.Server.Connect()
	if err != nil {
		r.t.Fatal(err)
	}
	store, err := jetstore.Open(conn)
	if err != nil {
		r.t.Fatal(err)
	}
	c.Bus, c.Jobs = store, jobs.New(store)
	s, err := api.New(c)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
		conn.Close()
	}
	r.t.Cleanup(stop)
	if _, err := r.client.Job(r.t.Context(), events.JobRef{Job: "nobody"}); errors.Is(err, client.ErrNoAPI) {
		r.t.Fatal(err)
	}
	return stop
}

// ask asks as any NATS client does.
func (r *rig) ask(subject, request string) *nats.Msg {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	answer, err := r.Conn.RequestWithContext(ctx, subject, []byte(request))
	if err != nil {
		r.t.Fatalf("%s: %v", subject, err)
	}
	return answer
}

func (r *rig) open(name string) {
	r.t.Helper()
	if _, err := r.client.OpenJob(r.t.Context(), events.OpenJob{JobRef: events.JobRef{Job: name}}); err != nil {
		r.t.Fatal(err)
	}
}

// batch puts a batch of the job into the state.
func (r *rig) batch(job, n, providerID string, padding int) {
	r.t.Helper()
	change := jobs.NewChange(time.Now())
	change.Batch(&jobs.Batch{Batch: events.Batch{
		Queue: queue, Job: job, N: n, State: events.BatchSubmitted, ProviderBatchID: providerID, FileID: "file-" + n,
		Why: strings.Repeat("w", padding), Counts: events.Counts{Total: 3, Completed: 2},
	}})
	if err := r.jobs.Commit(r.t.Context(), change); err != nil {
		r.t.Fatal(err)
	}
}
