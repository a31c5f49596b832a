package obs_test

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/doubleword"
)

// fullBudget is a budget with calls that wait.
type fullBudget struct{ since, until time.Time }

func (b fullBudget) Stats() []doubleword.CallStats {
	return []doubleword.CallStats{
		{Kind: doubleword.CallUpload, InFlight: 3, Waiting: 2, OldestSince: b.since}, {Kind: doubleword.CallSmall, InFlight: 1},
	}
}

func (b fullBudget) PausedUntil() time.Time { return b.until }

func TestCallsThatWaitShowTheirAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		registry.MustRegister(obs.Calls(fullBudget{since: time.Now().Add(-90 * time.Second), until: time.Now().Add(40 * time.Second)}))
		want := map[string]float64{
			"batchbus_provider_calls_oldest_wait_seconds upload": 90, "batchbus_provider_calls_oldest_wait_seconds small": 0,
			"batchbus_provider_calls_waiting upload": 2, "batchbus_provider_calls_waiting small": 0,
			"batchbus_provider_calls_in_flight upload": 3, "batchbus_provider_calls_in_flight small": 1,
			"batchbus_provider_paused_seconds": 40,
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				name := []string{family.GetName()}
				for _, label := range m.GetLabel() {
					name = append(name, label.GetValue())
				}
				got[strings.Join(name, " ")] = m.GetGauge().GetValue()
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("gauges %v, want %v", got, want)
		}
	})
}
