package integration_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// flood publishes rows, each a message of its own without a job, at a rate, and calls halfway when half of them are out.
func (s *stack) flood(name string, publishers, each, perSecond int, halfway func()) {
	s.t.Helper()
	var group sync.WaitGroup
	for p := range publishers {
		group.Go(func() {
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for i := range each {
				m := nats.NewMsg(events.RequestSubject(name, ""))
				id := fmt.Sprintf("row-%d-%d", p, i)
				m.Data = []byte(chat(id, "m", "hello"))
				m.Header.Set(nats.MsgIdHdr, id)
				if _, err := s.js.PublishMsgAsync(m); err != nil {
					s.t.Error(err)
				}
				if i%max(perSecond/publishers/10, 1) == 0 {
					<-tick.C
				}
				if p == 0 && i == each/2 && halfway != nil {
					halfway()
				}
			}
		})
	}
	group.Wait()
	<-s.js.PublishAsyncComplete()
}

// TestAFloodOfRowsWithoutAJobIsFewJobsAndFewBatches: 5,000 rows a second for more than two seconds, from four publishers, while a replica of each
// service ends and another one begins. Batches go out long before their job's window is over, and nothing is lost, doubled or paid twice.
func TestAFloodOfRowsWithoutAJobIsFewJobsAndFewBatches(t *testing.T) {
	t.Parallel()
	const publishers, each, most = 4, 2500, 1000
	w := newWorld(t, simulator.Config{})
	w.replicas = 2
	w.options.Settings.Linger = 3 * time.Second
	s := w.start()
	s.putQueue("calls", fmt.Sprintf(`{"rolling_rows_per_batch":%d}`, most))
	began := time.Now()
	s.flood("calls", publishers, each, 5000, func() {
		s.stopOne()
		s.run(t.Context(), true)
		s.runs++
	})
	t.Logf("%d rows published in %s", publishers*each, time.Since(began).Round(time.Millisecond))
	s.await(jetstore.StreamResults, events.ResultsFilter("calls", "*"), publishers*each)
	jobs := map[string]int{}
	seen := map[string]bool{}
	for m, err := range s.store.Read(t.Context(), jetstore.StreamResults, events.ResultsFilter("calls", "*"), 0) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := events.ParseResult(m.Data)
		if err != nil || r.Outcome != events.Succeeded || seen[r.CustomID] {
			t.Fatalf("%v, doubled %t: %.300s", err, seen[r.CustomID], m.Data)
		}
		seen[r.CustomID] = true
		jobs[r.Job]++
	}
	for job := range jobs {
		s.awaitOf(events.JobDone, "calls", job)
	}
	ledger := s.ledger()
	wantPaid(t, ledger, len(ledger.Creates), publishers*each)
	if len(jobs) > 5 || len(ledger.Creates) > publishers*each/most+len(jobs) {
		t.Errorf("%d jobs, %d batches for %d rows", len(jobs), len(ledger.Creates), publishers*each)
	}
	for _, c := range ledger.Creates {
		if c.Rows > most {
			t.Errorf("a batch of %d rows", c.Rows)
		}
	}
	for m, err := range s.store.Read(t.Context(), jetstore.StreamDeadletters, "batchbus.deadletters.calls.>", 0) {
		t.Errorf("dead letter %.200s, %v", m.Data, err)
	}
	r, err := s.bus.Client.Await(t.Context(), "calls", client.AnyJob, "row-3-2499")
	if err != nil || !strings.HasSuffix(r.Job, "-3") {
		t.Errorf("awaited without its job: %+v, %v", r.Job, err)
	}
}
