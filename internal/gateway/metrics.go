package gateway

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Names of the gateway's metrics.
const (
	MetricCalls    = "batchbus_gateway_calls_total"
	MetricOpen     = "batchbus_gateway_open_calls"
	MetricAttached = "batchbus_gateway_attached_total"
	MetricWait     = "batchbus_gateway_wait_seconds"
)

// Metrics count calls. A nil one counts nothing. It is safe for concurrent use.
type Metrics struct {
	calls    *prometheus.CounterVec
	open     prometheus.Gauge
	repeated prometheus.Counter
	wait     prometheus.Histogram
}

// NewMetrics registers the gateway's metrics in a registry that has none of them yet.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		calls:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: MetricCalls, Help: "Calls answered, by url and HTTP status; 0: the caller went away."}, []string{"url", "status"}),
		open:     prometheus.NewGauge(prometheus.GaugeOpts{Name: MetricOpen, Help: "Calls that are open."}),
		repeated: prometheus.NewCounter(prometheus.CounterOpts{Name: MetricAttached, Help: "Calls that were taken for repetitions of earlier ones, and not paid for again."}),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: MetricWait, Buckets: waitBuckets(), Help: "Time from a call to its result.",
		}),
	}
	registry.MustRegister(m.calls, m.open, m.repeated, m.wait)
	return m
}

// waitBuckets reach from a batch of a quiet provider to its longest window.
func waitBuckets() []float64 {
	return []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600}
}

func (m *Metrics) attached(repeated bool) {
	if m != nil && repeated {
		m.repeated.Inc()
	}
}

func (m *Metrics) waited(d time.Duration) {
	if m != nil {
		m.wait.Observe(d.Seconds())
	}
}

// begun counts an open call until the function that it returns is called with the call's status.
func (m *Metrics) begun(url string) (ended func(status int)) {
	if m == nil {
		return func(int) {}
	}
	m.open.Inc()
	return func(status int) {
		m.open.Dec()
		m.calls.WithLabelValues(url, strconv.Itoa(status)).Inc()
	}
}
