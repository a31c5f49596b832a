package obs_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// values are the gathered samples as "name{label=value,…}": of a histogram the number of observations.
func values(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	ok(t, err)
	found := make(map[string]float64)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			found[family.GetName()+labels(m)] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return found
}

func labels(m *dto.Metric) string {
	var pairs []string
	for _, l := range m.GetLabel() {
		pairs = append(pairs, l.GetName()+"="+l.GetValue())
	}
	if len(pairs) == 0 {
		return ""
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

func expect(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if have, found := got[name]; !found || have != value {
			t.Errorf("%s is %v (found: %v), want %v", name, have, found, value)
		}
	}
}

func TestHooksCountWhatTheirServiceDoes(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := obs.New(registry)
	h := m.Hooks("planner", obs.NewHealth(time.Now, nil))
	h.Ingested(3)
	h.Ingested(4)
	h.Result(events.Rejected, jetstore.Ack{})
	h.Result(events.Rejected, jetstore.Ack{Already: true}) // told of before
	h.DeadLetter(events.DLDuplicate, jetstore.Ack{})
	h.DeadLetter(events.DLDuplicate, jetstore.Ack{Already: true})
	loop := h.Loop("x", nil)
	loop.Beat()
	loop.Answered(jetstore.Acked, 1)
	loop.Answered(jetstore.GivenBack, 1)
	loop.Answered(jetstore.Acked, 2)
	got := values(t, registry)
	expect(t, got, map[string]float64{
		obs.MetricRowsIngested: 7,
		obs.MetricResults + "{outcome=rejected,service=planner}":   1,
		obs.MetricDeadLetters + "{code=duplicate,service=planner}": 1,
		obs.MetricMessages + "{answer=ack,service=planner}":        2,
		obs.MetricMessages + "{answer=nak,service=planner}":        1,
		obs.MetricRedeliveries + "{service=planner}":               1,
	})
	for _, name := range []string{"go_goroutines", "process_open_fds"} {
		if _, found := got[name]; !found {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestNobodyHasToListen(t *testing.T) {
	t.Parallel()
	var h obs.Hooks
	h.Ingested(1)
	h.Result(events.Failed, jetstore.Ack{})
	h.DeadLetter("x", jetstore.Ack{})
	h.Loop("x", nil).Beat()
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func TestCallsOfTheProviderAreCountedByRouteAndStatus(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "secret-id") {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	registry := prometheus.NewRegistry()
	m := obs.New(registry)
	client := http.Client{Transport: m.Transport(server.Client().Transport)}
	call := func(c http.Client, path string) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		ok(t, err)
		response, err := c.Do(r)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	ok(t, call(client, "/v1/batches?search=x"))
	ok(t, call(client, "/v1/batches/secret-id"))
	ok(t, call(client, "/v1/files/secret-id/content"))
	cause := errors.New("down")
	if err := call(http.Client{Transport: m.Transport(failing{cause})}, "/v1/batches"); !errors.Is(err, cause) {
		t.Errorf("the cause is lost: %v", err)
	}
	client.CloseIdleConnections()
	got := values(t, registry)
	expect(t, got, map[string]float64{
		obs.MetricProviderRequests + "{route=GET /batches,status=200}":            1,
		obs.MetricProviderRequests + "{route=GET /batches,status=error}":          1,
		obs.MetricProviderRequests + "{route=GET /batches/{id},status=404}":       1,
		obs.MetricProviderRequests + "{route=GET /files/{id}/content,status=200}": 1,
		obs.MetricProviderSeconds + "{route=GET /batches}":                        2,
	})
	for name := range got {
		if strings.Contains(name, "secret") {
			t.Errorf("an id is in %s", name)
		}
	}
}

func TestRoutesAreFewAndHoldNoID(t *testing.T) {
	t.Parallel()
	for call, want := range map[[2]string]string{
		{"GET", "/v1/files"}:                "GET /files",
		{"POST", "/batches"}:                "POST /batches",
		{"DELETE", "/some/base/files/f-1"}:  "DELETE /files/{id}",
		{"POST", "/v1/batches/b/cancel"}:    "POST /batches/{id}/cancel",
		{"GET", "/v1/batches/b/results"}:    "GET /batches/{id}/results",
		{"GET", "/v1/files/batches"}:        "GET /batches", // an id that looks like a collection is still no id
		{"GET", "/v1/files/f/anything"}:     "other",
		{"GET", "/v1/elsewhere"}:            "other",
		{"BREW", "/v1/files"}:               "other",
		{"GET", "/"}:                        "other",
		{"GET", "/v1/files/f/content/more"}: "other",
	} {
		if got := obs.Route(call[0], call[1]); got != want {
			t.Errorf("%v is %q, want %q", call, got, want)
		}
	}
}
