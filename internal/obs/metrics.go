package obs

import (
	"cmp"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Metrics are the counters of one process. It is safe for concurrent use.
type Metrics struct {
	ingested     prometheus.Counter
	results      *prometheus.CounterVec
	deadLetters  *prometheus.CounterVec
	messages     *prometheus.CounterVec
	redeliveries *prometheus.CounterVec
	files        prometheus.Counter
	requests     *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
}

// requestBuckets reach from a read nearby to an upload of 200 MiB.
func requestBuckets() []float64 {
	return []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}
}

// New registers the counters, those of the Go runtime and of the process, and the build, in a registry that has none of them yet.
func New(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		ingested:     prometheus.NewCounter(counter(MetricRowsIngested, "Rows stored in blocks; those of a message that came twice count twice.")),
		results:      counters(MetricResults, "Results stored, by outcome.", "service", "outcome"),
		deadLetters:  counters(MetricDeadLetters, "Dead letters stored, by code.", "service", "code"),
		messages:     counters(MetricMessages, "Messages handled, by the answer they got.", "service", "answer"),
		redeliveries: counters(MetricRedeliveries, "Messages handled that had been delivered before.", "service"),
		files:        prometheus.NewCounter(counter(MetricFilesDeleted, "Input files at the provider that nothing referred to, deleted.")),
		requests:     counters(MetricProviderRequests, "Calls of the provider, by route and HTTP status; error: no answer came.", "route", "status"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: MetricProviderSeconds, Buckets: requestBuckets(), Help: "Time until the head of the provider's answer, by route.",
		}, []string{"route"}),
	}
	registry.MustRegister(m.ingested, m.results, m.deadLetters, m.messages, m.redeliveries, m.files, m.requests, m.seconds,
		buildInfo(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counter(name, help string) prometheus.CounterOpts {
	return prometheus.CounterOpts{Name: name, Help: help}
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(counter(name, help), labels)
}

// buildInfo is always 1; its labels tell what runs.
func buildInfo() prometheus.Collector {
	version, goVersion := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version, goVersion = cmp.Or(info.Main.Version, version), info.GoVersion
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: MetricBuildInfo, Help: "Always 1; the labels tell what runs.",
		ConstLabels: prometheus.Labels{"version": version, "go": goVersion},
	}, func() float64 { return 1 })
}

// Reconnects counts how often a service's connection to the bus came back.
func Reconnects(service string, c Connection) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: MetricReconnects, Help: "How often the connection to the bus came back.", ConstLabels: prometheus.Labels{"service": service},
	}, func() float64 { return float64(c.Reconnects()) })
}

// Hooks are those of one service, which count. Its beats go to health.
func (m *Metrics) Hooks(service string, health *Health) Hooks {
	redelivered := m.redeliveries.WithLabelValues(service)
	return Hooks{
		OnBeat: health.Beat,
		OnAnswer: func(answer jetstore.Answer, delivered int) {
			m.messages.WithLabelValues(service, string(answer)).Inc()
			if delivered > 1 {
				redelivered.Inc()
			}
		},
		OnIngest:      func(rows int) { m.ingested.Add(float64(rows)) },
		OnResult:      func(outcome events.Outcome) { m.results.WithLabelValues(service, string(outcome)).Inc() },
		OnDeadLetter:  func(code string) { m.deadLetters.WithLabelValues(service, code).Inc() },
		OnFileDeleted: m.files.Inc,
	}
}
