package failpoint_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// heard is what a registry was told.
type heard struct{ passages []string }

func (h *heard) registry() *failpoint.Registry {
	return failpoint.NewRegistry(func(p failpoint.Passage) { h.passages = append(h.passages, p.String()) })
}

func TestEveryEffectOnTheBusHasTheNameOfItsKind(t *testing.T) {
	t.Parallel()
	batch, job := jetstore.KeySubject(events.BatchKey("q", "j", "1")), jetstore.KeySubject(events.JobKey("q", "j"))
	event := func(kind events.Kind) string { return events.EventSubject(kind, "q", "j", "1-7") }
	for want, effect := range map[string]jetstore.Effect{
		"ingest.publish.rows":          {Verb: jetstore.VerbPublish, Subjects: []string{events.RowsSubject("q", "j")}},
		"ingest.publish.requests":      {Verb: jetstore.VerbPublish, Subjects: []string{events.RequestSubject("q", "")}},
		"api.publish.seal_request":     {Verb: jetstore.VerbPublish, Subjects: []string{events.RequestSubject("q", "j")}, Header: nats.Header{events.HeaderCancel: {"true"}}},
		"ingest.publish.seal_request":  {Verb: jetstore.VerbPublish, Subjects: []string{events.RequestSubject("q", "")}, Header: nats.Header{events.HeaderSeal: {"true"}}},
		"ingest.publish.object_chunk":  {Verb: jetstore.VerbPublish, Subjects: []string{"$O.batchbus_objects.C.x"}},
		"ingest.publish.object":        {Verb: jetstore.VerbPublish, Subjects: []string{"$O.batchbus_objects.M.x"}},
		"ingest.ack.requests":          {Verb: jetstore.VerbAck, Subjects: []string{events.RequestSubject("q", "j")}},
		"ingest.nak.events":            {Verb: jetstore.VerbNak, Subjects: []string{event(events.BatchIsPlanned)}},
		"ingest.delete.object":         {Verb: jetstore.VerbDelete, Subjects: []string{"BATCHBUS_ROWS/batchbus.rows.q.j/x"}},
		"ingest.purge.results":         {Verb: jetstore.VerbPurge, Subjects: []string{events.ResultsFilter("q", "j")}},
		"ingest.commit.bus_id":         {Verb: jetstore.VerbCommit, Subjects: []string{jetstore.KeySubject("bus")}},
		"ingest.commit.batch":          {Verb: jetstore.VerbCommit, Subjects: []string{batch}},
		"ingest.commit.batch.creating": {Verb: jetstore.VerbCommit, Subjects: []string{batch, event(events.BatchIsCreating)}},
		"ingest.commit.job.planned":    {Verb: jetstore.VerbCommit, Subjects: []string{batch, event(events.BatchIsPlanned), job, event(events.JobFullyPlanned)}},
		"ingest.commit.batch.twin":     {Verb: jetstore.VerbCommit, Subjects: []string{event(events.BatchTwin)}},
		"ingest.publish.other":         {Verb: jetstore.VerbPublish, Subjects: []string{"elsewhere"}},
	} {
		var h heard
		service, _, _ := strings.Cut(want, ".")
		h.registry().Probe(service)(effect)()
		if !slices.Equal(h.passages, []string{want + ":before", want + ":after"}) {
			t.Errorf("%v passes %v, want %s", effect, h.passages, want)
		}
	}
}

func TestEveryCallOfTheProviderHasTheNameOfItsKind(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		"POST /v1/files":            "create_file",
		"GET /v1/files?search=x":    "list_files",
		"DELETE /v1/files/f":        "delete_file",
		"GET /v1/files/f/content":   "read_content",
		"POST /proxy/v1/batches":    "create_batch",
		"GET /v1/batches":           "list_batches",
		"GET /v1/batches/b":         "get_batch",
		"POST /v1/batches/b/cancel": "cancel_batch",
		"GET /v1/batches/b/results": "read_results",
		"GET /v1/models":            "list_models", "GET /v1/else": "other",
	} {
		method, path, _ := strings.Cut(call, " ")
		request, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		var h heard
		sent := func(*http.Request) (*http.Response, error) {
			if len(h.passages) != 1 {
				t.Errorf("%s is sent at passage %d", call, len(h.passages))
			}
			return nil, http.ErrHandlerTimeout
		}
		if _, err := h.registry().Transport("poller", roundTripper(sent)).RoundTrip(request); err != http.ErrHandlerTimeout { //nolint:bodyclose,errorlint // there is none; it must be this very one
			t.Error(err)
		}
		if want = "poller.call." + want; !slices.Equal(h.passages, []string{want + ":before", want + ":after"}) {
			t.Errorf("%s passes %v, want %s", call, h.passages, want)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNobodyListensToANilRegistry(t *testing.T) {
	t.Parallel()
	var r *failpoint.Registry
	if r.Probe("ingest") != nil || r.Transport("ingest", http.DefaultTransport) != http.DefaultTransport {
		t.Error("a nil registry listens")
	}
}
