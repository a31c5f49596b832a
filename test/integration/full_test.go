package integration_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// room sets how many bytes a stream may hold beyond what it holds.
func (s *stack) room(stream string, more int64) {
	s.t.Helper()
	handle, err := s.js.Stream(s.t.Context(), stream)
	if err != nil {
		s.t.Fatal(err)
	}
	config := handle.CachedInfo().Config
	config.MaxBytes = max(1, int64(handle.CachedInfo().State.Bytes)+more)
	if _, err := s.js.UpdateStream(s.t.Context(), config); err != nil {
		s.t.Fatal(err)
	}
}

// plenty is room for everything that a test does.
const plenty = 64 << 20

// readiness is what /readyz says.
func (s *stack) readiness() string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.admin+"/readyz", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// awaitReadiness waits until /readyz says something.
func (s *stack) awaitReadiness(part string) {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		text := s.readiness()
		if strings.Contains(text, part) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("/readyz never says %q, but %q\n%s", part, text, s.states())
		}
	}
}

// watched is a world whose readiness can be asked.
func watched(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, simulator.Config{})
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.admin = listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// Each stream that can fill is full when the job needs it. The job stands still and says so, and ends as if nothing had been once there is
// room.
func TestAFullStreamHoldsUpAJobInTheOpenAndNothingOfItIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stream string
		room   int64
		who    string // waits first
	}{
		{jetstore.StreamRows, 4 << 10, "ingest"},
		{jetstore.StreamJobs, 0, "ingest"},
		{jetstore.StreamJobs, 3 << 10, ""}, // somewhere between opening and planning
		{jetstore.StreamObjects, 0, "submitter"},
		{jetstore.StreamResults, 0, "collector"},
		{jetstore.StreamResults, 20 << 10, "collector"}, // in the middle of a file
	} {
		t.Run(fmt.Sprintf("%s with %d bytes left", c.stream, c.room), func(t *testing.T) {
			t.Parallel()
			s := watched(t).start()
			if c.stream != jetstore.StreamJobs {
				s.open("full", 20)
			}
			jsonl, ids := grouped(60, 1)
			s.room(c.stream, c.room)
			for line := range strings.Lines(jsonl) {
				s.send(events.RequestSubject(queue, "full"), line)
			}
			s.seal("full")
			s.awaitReadiness(c.stream + " is full: " + c.who)
			s.room(c.stream, plenty)
			s.awaitEvent(events.JobDone, "full")
			s.awaitReadiness("ok")
			s.wantAllOnce("full", ids)
			batches := 3
			if c.stream == jetstore.StreamJobs {
				batches = 1 // its job has the default policy
			}
			wantPaid(t, s.ledger(), batches, len(ids))
		})
	}
}

// What follows from a bad row waits; what it is stays one dead letter each.
func TestAFullStreamOfDeadLettersHoldsUpTheirRowsAndDoublesNone(t *testing.T) {
	t.Parallel()
	s := watched(t).start()
	s.room(jetstore.StreamDeadletters, 64)
	jsonl, ids := grouped(20, 1)
	s.send(events.RequestSubject(queue, "bad"), jsonl+"no row\n"+chat(ids[3], "model-0", "another question"))
	s.awaitReadiness("BATCHBUS_DEADLETTERS is full: ingest")
	s.seal("bad")
	s.room(jetstore.StreamDeadletters, 64+1024) // ingest's fits, the planner's may not
	s.awaitReadiness("BATCHBUS_DEADLETTERS is full: submitter")
	s.room(jetstore.StreamDeadletters, plenty)
	s.awaitEvent(events.JobDone, "bad")
	results := s.results("bad")
	wantOutcomes(t, results, map[events.Outcome]int{events.Succeeded: len(ids)})
	if letters := s.deadLetters("bad"); len(letters) != 2 {
		t.Errorf("%d dead letters, want an invalid row and a conflict", len(letters))
	}
	wantPaid(t, s.ledger(), 1, len(ids))
}

// The state cannot follow the paid call: the batch is found by its path and adopted, not paid again.
func TestAStateThatIsFullWhileACreateIsAnsweredIsPaidOnce(t *testing.T) {
	t.Parallel()
	w := watched(t)
	w.provider.slowCreates = 500 * time.Millisecond
	s := w.start()
	jsonl, ids := grouped(30, 1)
	s.publish("paid", jsonl)
	<-w.provider.creating
	s.room(jetstore.StreamJobs, 0)
	s.awaitReadiness("KV_batchbus_jobs is full: submitter")
	<-time.NewTimer(8 * time.Second).C // longer than the answer is kept for, and than an unanswered create is waited for
	if results := s.results("paid"); len(results) != 0 {
		t.Fatalf("%d results of a batch that the state does not know", len(results))
	}
	s.room(jetstore.StreamJobs, plenty)
	s.awaitEvent(events.JobDone, "paid")
	s.wantAllOnce("paid", ids)
	wantPaid(t, s.ledger(), 1, len(ids))
	if calls := s.ledger().Calls["POST /v1/batches"]; calls != 1 {
		t.Errorf("%d calls to create, want 1", calls)
	}
}

// Events are copies and hints: their stream forgets the oldest, and nothing waits for it.
func TestAFullStreamOfEventsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	s := watched(t).start()
	s.room(jetstore.StreamEvents, 1<<10)
	for i := range 3 {
		job := fmt.Sprintf("eventful-%d", i)
		jsonl, ids := grouped(20, 4)
		s.publish(job, jsonl)
		s.awaitCompleted(job)
		s.wantAllOnce(job, ids)
	}
	wantPaid(t, s.ledger(), 12, 60)
}

// awaitCompleted waits by the state, for when events cannot be trusted.
func (s *stack) awaitCompleted(job string) {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		j, err := s.bus.Jobs.Job(s.t.Context(), queue, job)
		if err == nil && j.State == events.JobCompleted {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("job %s does not end: %v\n%s", job, err, s.states())
		}
	}
}

// A file may be larger than what may wait for ingest: its publisher goes at ingest's pace.
func TestAPublisherOfMoreThanTheRequestsMayHoldGoesAtIngestsPace(t *testing.T) {
	t.Parallel()
	s := watched(t).start()
	s.room(jetstore.StreamRequests, 600<<10)
	var b strings.Builder
	var ids []string
	for i := range 400 {
		ids = append(ids, fmt.Sprintf("row-%05d", i))
		b.WriteString(chat(ids[i], "m", strings.Repeat("long ", 1<<10)) + "\n")
	}
	s.publish("pace", b.String()) // 2 MB
	s.awaitEvent(events.JobDone, "pace")
	s.wantAllOnce("pace", ids)
	wantPaid(t, s.ledger(), 1, len(ids))
}

// Above 80 % of ROWS a new job waits, with its rows on the bus, while an open one goes on to its end.
func TestNearlyFullRowsOpenNoNewJobAndFinishTheOpenOnes(t *testing.T) {
	t.Parallel()
	s := watched(t).start()
	s.open("open", 100)
	first, ids := grouped(20, 1)
	s.send(events.RequestSubject(queue, "open"), first)
	s.await(jetstore.StreamRows, events.RowsSubject(queue, "open"), 1)
	used, _, err := s.store.Size(t.Context(), jetstore.StreamRows)
	if err != nil {
		t.Fatal(err)
	}
	s.room(jetstore.StreamRows, int64(used)/10) // 91 % are in use
	<-time.NewTimer(3500 * time.Millisecond).C  // one look at the size of ROWS holds for three seconds
	s.publish("new", first)
	s.seal("open")
	s.awaitEvent(events.JobDone, "open")
	s.wantAllOnce("open", ids)
	if _, err := s.bus.Jobs.Job(t.Context(), queue, "new"); err == nil {
		t.Error("a new job was opened above 80 %")
	}
	wantPaid(t, s.ledger(), 1, len(ids))
}

// Room is made by forgetting what is done, also while the stream is full.
func TestForgettingACompletedJobMakesRoomForTheResultsOfAnother(t *testing.T) {
	t.Parallel()
	s := watched(t).start()
	old, _ := grouped(60, 1)
	s.publish("old", old)
	s.awaitEvent(events.JobDone, "old")
	s.room(jetstore.StreamResults, 1<<10)
	jsonl, ids := grouped(40, 1)
	s.publish("young", jsonl)
	s.awaitReadiness("BATCHBUS_RESULTS is full: collector")
	if _, err := s.bus.Client.ForgetJob(t.Context(), events.JobRef{Queue: queue, Job: "old"}); err != nil {
		t.Fatal(err)
	}
	s.awaitEvent(events.JobDone, "young")
	s.wantAllOnce("young", ids)
	wantPaid(t, s.ledger(), 2, 100)
}
