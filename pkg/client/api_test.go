package client_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestAReplicaThatDoesNotAnswerCostsSecondsAndNotTheAnswer(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test's own body, in a bubble
		asked := 0
		frozenOnce := func(m *nats.Msg) {
			if asked++; asked > 1 {
				if err := m.Respond(events.EncodeAPI(events.JobStatus{Queue: queue, Job: job})); err != nil {
					t.Error(err)
				}
			}
		}
		sub, err := f.Conn.Subscribe(events.APISubject(events.APIJobsGet), frozenOnce)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = sub.Unsubscribe() }()
		began := time.Now()
		status, err := client.New(f.Store).Job(t.Context(), events.JobRef{Queue: queue, Job: job})
		if err != nil || status.Job != job || time.Since(began) > 5*time.Second {
			t.Errorf("%+v, %v after %s", status, err, time.Since(began))
		}
	})
}
