package integration_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const examples = "../../examples/requests.jsonl"

// exampleIDs are the custom_ids of the examples, in order.
func exampleIDs(t *testing.T, data []byte) []string {
	t.Helper()
	var ids []string
	for line := range bytes.Lines(data) {
		var row struct {
			CustomID string `json:"custom_id"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, row.CustomID)
	}
	return ids
}

func TestTheExamplesGetTheRightOutcomesOnTheRightSubjects(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(examples)
	if err != nil {
		t.Fatal(err)
	}
	ids := exampleIDs(t, data)
	s := newLocalWorld(t).start()
	s.publish("examples", string(data))
	s.awaitEvent(events.JobDone, "examples")

	results := s.results("examples")
	for _, id := range ids {
		wantExample(t, id, results[id])
	}
	wantOutcomes(t, results, map[events.Outcome]int{events.Succeeded: len(ids) - 2, events.Failed: 1, events.Rejected: 1})
	if letters := s.deadLetters("examples"); len(letters) > 0 {
		t.Errorf("dead letters %v", codes(letters))
	}
	wantPaid(t, s.ledger(), 4, len(ids)-1) // chat, vision, embeddings, responses
	s.wantHeaders("examples", ids)
	wantStory(t, s.events("examples"), 4)
}

// wantExample knows the three rows of the examples that are not plain successes.
func wantExample(t *testing.T, id string, r client.Result) {
	t.Helper()
	switch id {
	case "fails-when-run-001":
		if r.Outcome != events.Failed || r.Error == nil || r.Error.StatusCode != 400 || r.Error.Message != "temperature must be between 0 and 2" {
			t.Errorf("%s: %s, error %+v", id, r.Outcome, r.Error)
		}
	case "refused-here-001":
		if r.Outcome != events.Rejected || r.Error == nil || r.Error.Code != "url_not_allowed" || r.Error.Line != 15 || r.Batch != "" {
			t.Errorf("%s: %s, error %+v, batch %q", id, r.Outcome, r.Error, r.Batch)
		}
	default:
		// chat-005 asks for more than its limit; the length of other answers is the simulator's choice.
		cut := r.FinishReason == "length" || r.FinishReason == "max_output_tokens"
		if r.Outcome != events.Succeeded || r.StatusCode != 200 || r.Error != nil || r.Usage == nil || r.Usage.TotalTokens == 0 ||
			!json.Valid(r.Response) || r.Truncated != cut || id == "chat-005" && !cut {
			t.Errorf("%s: %s", id, r.Raw)
		}
	}
}

func (s *stack) wantHeaders(job string, ids []string) {
	s.t.Helper()
	source := regexp.MustCompile(`^[0-9a-f]{32}$`)
	seen := map[string]bool{}
	for m, err := range s.store.Read(s.t.Context(), jetstore.StreamResults, events.ResultsFilter(queue, job), 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		r, err := events.ParseResult(m.Data)
		if err != nil {
			s.t.Fatal(err)
		}
		token := events.RowToken(r.CustomID)
		for name, want := range map[string]string{
			events.HeaderQueue: queue, events.HeaderJob: job, events.HeaderRow: token, events.HeaderOutcome: string(r.Outcome),
			events.HeaderCEID: queue + "." + job + "." + token, events.HeaderCEType: "io.batchbus.v1.result",
			events.HeaderCESource: "batchbus/" + queue + "/" + job, events.HeaderCESpecVersion: "1.0", "Nats-Msg-Id": "",
		} {
			if got := m.Header.Get(name); got != want {
				s.t.Errorf("%s: header %s is %q, want %q", m.Subject, name, got, want)
			}
		}
		if got := m.Header.Get(events.HeaderSource); !source.MatchString(got) || seen[got] {
			s.t.Errorf("%s: source %q is malformed or another row's", m.Subject, got)
		}
		seen[m.Header.Get(events.HeaderSource)] = true
		if m.Subject != "batchbus.results.default."+job+"."+token || !slices.Contains(ids, r.CustomID) {
			s.t.Errorf("subject %s of row %q", m.Subject, r.CustomID)
		}
	}
}

// wantStory checks that a job and so many batches were told of from beginning to end, each step once and in order.
func wantStory(t *testing.T, all []events.Event, batches int) {
	t.Helper()
	steps := map[string][]events.Kind{}
	ids := map[string]bool{}
	for _, e := range all {
		if subject := e.Subject(); ids[subject] {
			t.Errorf("event %s stands twice", subject)
		}
		ids[e.Subject()] = true
		if e.Kind != events.BatchProgress {
			steps[e.Batch] = append(steps[e.Batch], e.Kind)
		}
	}
	wantJob := []events.Kind{events.JobOpened, events.JobFullyPlanned, events.JobDone}
	if !slices.Equal(steps[""], wantJob) {
		t.Errorf("job events %v, want %v", steps[""], wantJob)
	}
	delete(steps, "")
	wantBatch := []events.Kind{
		events.BatchIsPlanned, events.BatchIsUploaded, events.BatchIsCreating, events.BatchIsSubmitted,
		events.BatchIsFinished, events.BatchIsSettled,
	}
	for n, kinds := range steps {
		if !slices.Equal(kinds, wantBatch) {
			t.Errorf("events of batch %s: %v, want %v", n, kinds, wantBatch)
		}
	}
	if len(steps) != batches || all[0].Kind != events.JobOpened || all[len(all)-1].Kind != events.JobDone {
		t.Errorf("%d batches, first event %s, last %s", len(steps), all[0].Kind, all[len(all)-1].Kind)
	}
}

func TestTheSameInputAgainCostsNothingAndAnswersNothingTwice(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(examples)
	if err != nil {
		t.Fatal(err)
	}
	w := newLocalWorld(t)
	s := w.start()
	s.publish("again", string(data))
	s.awaitEvent(events.JobDone, "again")
	before, results := s.ledger(), s.results("again")

	s.publish("again", string(data)) // within the stream's duplicate window
	s.stop()
	s = w.start()
	taken := s.lastRequest()
	s.publish("again", string(data)) // the server has forgotten the ids of what was consumed: this reaches ingest
	if got := s.lastRequest(); got != taken+2 {
		t.Errorf("%d messages reached the bus, want the rows and the seal", got-taken)
	}
	s.publish("barrier", chat("b", "m", "behind everything published before"))
	s.awaitEvent(events.JobDone, "barrier")

	after := s.ledger()
	if len(after.Creates) != len(before.Creates)+1 || len(after.Uploads) != len(before.Uploads)+1 || after.RowsRun != before.RowsRun+1 {
		t.Errorf("creates %d → %d, uploads %d → %d, rows run %d → %d: want one more for the barrier",
			len(before.Creates), len(after.Creates), len(before.Uploads), len(after.Uploads), before.RowsRun, after.RowsRun)
	}
	again := s.results("again")
	for id, r := range again {
		if r.Sequence != results[id].Sequence || !bytes.Equal(r.Raw, results[id].Raw) {
			t.Errorf("row %q was answered anew", id)
		}
	}
	if letters := s.deadLetters("again"); len(again) != len(results) || len(letters) > 0 {
		t.Errorf("%d results, were %d; dead letters %v", len(again), len(results), codes(letters))
	}
}

// lastRequest is how many requests the bus has ever taken.
func (s *stack) lastRequest() uint64 {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), jetstore.StreamRequests)
	if err != nil {
		s.t.Fatal(err)
	}
	return stream.CachedInfo().State.LastSeq
}
