package obs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// store is one whose streams a test fills.
type store struct{ full []jetstore.Full }

func (s *store) FullStreams() []jetstore.Full { return s.full }

func TestAFullStreamShowsInReadinessAndMetricsWhileItIsFull(t *testing.T) {
	t.Parallel()
	s, registry := &store{}, prometheus.NewRegistry()
	registry.MustRegister(obs.Full("collector", s), obs.Full("ingest", s))
	check := obs.Room("collector", s)
	ok(t, check())
	s.full = []jetstore.Full{
		{Stream: jetstore.StreamResults, SinceAt: time.Now().Add(-time.Minute)}, {Stream: jetstore.StreamJobs, SinceAt: time.Now()},
	}
	err := check()
	if err == nil || !strings.Contains(err.Error(), "BATCHBUS_RESULTS is full: collector waits for room since ") || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("the check says %v", err)
	}
	got := values(t, registry)
	name := obs.MetricFull + "{service=collector,stream=BATCHBUS_RESULTS}"
	if got[name] < 60 || got[name] > 120 || len(got) != 4 {
		t.Errorf("%s is %v of %v", name, got[name], got)
	}
	s.full = nil
	ok(t, check())
	if got := values(t, registry); len(got) != 0 {
		t.Errorf("when there is room: %v", got)
	}
}
