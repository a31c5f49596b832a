package obs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

// MetricFull is a gauge of one process.
const MetricFull = "batchbus_full_seconds"

// Store is what is asked of a service's store.
type Store interface {
	FullStreams() []jetstore.Full
}

// Full is the gauge of the streams that refuse a service's messages for want of room. There is no sample while none does.
func Full(service string, store Store) prometheus.Collector { return full{service, store} }

type full struct {
	service string
	store   Store
}

// Describe describes nothing, since other services have the same name for it.
func (full) Describe(chan<- *prometheus.Desc) {}

// Collect asks the store.
func (f full) Collect(to chan<- prometheus.Metric) {
	for _, stream := range f.store.FullStreams() {
		emit(to, MetricFull, "For how long a stream has refused the service's messages for want of room; absent: it takes them.",
			time.Since(stream.SinceAt).Seconds(), []string{"service", "stream"}, f.service, stream.Stream)
	}
}

// Room is the check that no stream refuses a service's messages.
func Room(service string, store Store) func() error {
	return func() error {
		all := store.FullStreams()
		slices.SortFunc(all, func(a, b jetstore.Full) int { return strings.Compare(a.Stream, b.Stream) })
		faults := make([]error, len(all))
		for i, stream := range all {
			faults[i] = fmt.Errorf("%s is full: %s waits for room since %s", stream.Stream, service, stream.SinceAt.UTC().Format(time.RFC3339))
		}
		return errors.Join(faults...)
	}
}
