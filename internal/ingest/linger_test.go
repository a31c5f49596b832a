package ingest_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/ingest"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// with gives a replica the policies of the bus, which it remembers by itself.
func with(r *rig, bus *jetstore.Store) func(*ingest.Config) {
	return func(c *ingest.Config) { c.Policies, c.Bus, c.DrainTimeout = queues.New(r.Store, 0), bus, time.Second }
}

// dying returns a store whose connection dies of its first ack, and when it did.
func dying(t *testing.T, f *jetstoretest.Fixture) (*jetstore.Store, <-chan struct{}) {
	t.Helper()
	m := &mute{f.Server, make(chan struct{})}
	nc, err := nats.Connect("", nats.InProcessServer(m), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	store, err := jetstore.Open(nc)
	if err != nil {
		t.Fatal(err)
	}
	return store, m.died
}

// TestARowLandsInOneRollingJobAcrossChangesOfItsLength: the length changes while rows flow, replicas come and go, and what one of them has stored
// and not acked comes to another one long after, under another length.
func TestARowLandsInOneRollingJobAcrossChangesOfItsLength(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		r := newRig(t, f)
		policies, wanted, linger := queues.New(f.Store, 0), map[string]string{}, 60*time.Second
		publish := func(n int) {
			for range n {
				id := fmt.Sprintf("row-%d", len(wanted))
				wanted[id] = events.RollingAt(time.Now(), linger).Job()
				r.publish("calls", row(id))
				wait(time.Second)
			}
		}
		change := func(fields string, to time.Duration) {
			if _, err := policies.Put(t.Context(), "calls", []byte(fields), nil); err != nil {
				t.Fatal(err)
			}
			publish(int(queues.LingerLead / time.Second))
			linger = to
			publish(25)
		}
		wait(20 * time.Second)
		stop := r.run(with(r, f.Store))
		defer r.run(with(r, f.Store))()
		publish(10)
		change(`{"linger_seconds":10}`, 10*time.Second)
		stop()
		bus, died := dying(t, f)
		stop = r.run(with(r, bus))
		change(`{"linger_seconds":7,"window":"1h"}`, 7*time.Second)
		<-died
		stop()
		defer r.run(with(r, f.Store))()
		change(`{"window":"1h"}`, 60*time.Second)
		r.ingestedWithin(10 * time.Minute)
		where := map[string]string{}
		for m, err := range r.Store.Read(context.Background(), jetstore.StreamRows, "batchbus.rows.calls.*", 1) {
			if err != nil {
				t.Fatal(err)
			}
			job := strings.TrimPrefix(m.Subject, "batchbus.rows.calls.")
			for _, e := range r.stored("calls", job) {
				if e == nil {
					continue
				}
				if before, known := where[e.CustomID]; known && before != job {
					t.Errorf("%s is in %s and in %s", e.CustomID, before, job)
				}
				where[e.CustomID] = job
			}
		}
		for id, job := range wanted {
			if where[id] != job {
				t.Errorf("%s is in %q, want %s", id, where[id], job)
			}
		}
		if letters := r.deadLetters("calls.>"); len(letters) != 0 || len(wanted) < 170 {
			t.Errorf("%d rows, dead letters %+v", len(wanted), letters)
		}
		if j, open := r.job("calls", wanted["row-70"]); !open || strconv.Itoa(j.Policy.LingerSeconds) != wanted["row-70"][strings.LastIndex(wanted["row-70"], "-")+1:] {
			t.Errorf("job %s records the length %d", j.Job, j.Policy.LingerSeconds)
		}
	})
}

// TestATrickleOfARowAMinuteIsSealedWindowByWindow: two replicas, each of which is now and then another one, and nobody but them to seal.
func TestATrickleOfARowAMinuteIsSealedWindowByWindow(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		r := newRig(t, f)
		replicas := []func(){r.run(with(r, f.Store)), r.run(with(r, f.Store))}
		jobs := map[string]string{}
		wait(17 * time.Second)
		for i := range 60 {
			job := events.RollingAt(time.Now(), time.Minute).Job()
			jobs[job] = fmt.Sprintf("row-%d", i)
			r.publish("calls", row(jobs[job]))
			wait(45 * time.Second)
			if i%7 == 3 {
				replicas[i%2]()
				replicas[i%2] = r.run(with(r, f.Store))
			}
			wait(15 * time.Second)
			if i > 0 {
				before := events.RollingAt(time.Now().Add(-2*time.Minute), time.Minute).Job()
				r.want("calls", before, jobs[before]+" seal")
			}
		}
		wait(2 * time.Minute)
		for _, stop := range replicas {
			stop()
		}
		for job, id := range jobs {
			r.want("calls", job, id+" seal")
		}
		counts, err := r.Store.SubjectCounts(context.Background(), jetstore.StreamJobs, jetstore.KeySubject("job.calls.*"))
		if err != nil || len(counts) != 60 || r.left("batchbus.requests.>") {
			t.Errorf("%d jobs of 60 rows, %v", len(counts), err)
		}
	})
}
