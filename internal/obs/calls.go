package obs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// Gauges of one process about its calls of the provider.
const (
	MetricCallsInFlight = "batchbus_provider_calls_in_flight"
	MetricCallsWaiting  = "batchbus_provider_calls_waiting"
	MetricCallsOldest   = "batchbus_provider_calls_oldest_wait_seconds"
	MetricCallsPaused   = "batchbus_provider_paused_seconds"
)

// Budget is what is asked of the process' budget of provider calls.
type Budget interface {
	Stats() []doubleword.CallStats
	PausedUntil() time.Time
}

// Calls are the gauges of a budget of provider calls.
func Calls(budget Budget) prometheus.Collector { return calls{budget} }

type calls struct{ budget Budget }

// Describe describes nothing: the gauges are made as they are read.
func (calls) Describe(chan<- *prometheus.Desc) {}

// Collect asks the budget.
func (c calls) Collect(to chan<- prometheus.Metric) {
	now, kind := time.Now(), []string{"kind"}
	for _, s := range c.budget.Stats() {
		emit(to, MetricCallsInFlight, "Calls of the provider under way, by kind; a download until it was read.", float64(s.InFlight), kind, s.Kind.String())
		emit(to, MetricCallsWaiting, "Calls of the provider that wait for their place, by kind.", float64(s.Waiting), kind, s.Kind.String())
		emit(to, MetricCallsOldest, "How long the oldest of them has waited; 0: none waits.", age(s.OldestSince, now), kind, s.Kind.String())
	}
	paused := 0.0
	if until := c.budget.PausedUntil(); until.After(now) {
		paused = until.Sub(now).Seconds()
	}
	emit(to, MetricCallsPaused, "For how long yet some key's calls are kept back, since the provider said 429; 0: none are.", paused, nil)
}
