package api_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/api"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestANearlyFullBusOpensNoNewJobsButFindsOldOnes(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	js := r.Store.JetStream()
	rows, err := js.Stream(t.Context(), jetstore.StreamRows)
	if err != nil {
		t.Fatal(err)
	}
	small := rows.CachedInfo().Config
	small.MaxBytes = 10_000
	if _, err := js.UpdateStream(t.Context(), small); err != nil {
		t.Fatal(err)
	}
	stop := r.replica()
	r.open("old")
	if _, err := r.Store.Publish(t.Context(), &nats.Msg{Subject: events.RowsSubject(queue, "old"), Data: make([]byte, 9000)}); err != nil {
		t.Fatal(err)
	}
	stop()
	r.replica() // it has not looked at the size before
	_, err = r.client.OpenJob(t.Context(), events.OpenJob{JobRef: events.JobRef{Job: "new"}})
	wantCode(t, "a new job", err, events.APIBusFull)
	r.open("old")
}

func TestARequestInHandIsAnsweredAfterTheStop(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	entered, release := make(chan struct{}), make(chan struct{})
	stop := r.replicaOf(api.Config{Queues: slowQueues{policy: func() events.Policy {
		close(entered)
		<-release
		return events.DefaultPolicy()
	}}})
	answered := make(chan error, 1)
	go func() {
		_, err := r.client.OpenJob(t.Context(), events.OpenJob{JobRef: events.JobRef{Job: "late"}})
		answered <- err
	}()
	<-entered
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	for r.answersPing() { // the stop begins with that
	}
	close(release)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	<-stopped
}

// slowQueues answer when the test says so.
type slowQueues struct {
	api.Queues
	policy func() events.Policy
}

func (q slowQueues) Policy(context.Context, string) (events.Policy, error) { return q.policy(), nil }

// answersPing tells whether somebody answers for batchbus.
func (r *rig) answersPing() bool {
	_, err := r.Conn.RequestWithContext(r.t.Context(), "$SRV.PING.batchbus", nil)
	return err == nil
}
