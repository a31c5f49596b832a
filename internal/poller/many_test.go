package poller_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// A thousand batches whose times lie apart cost about ten requests, of 100 each, per interval of theirs: who is shown early falls due with the
// others.
func TestAThousandLiveBatchesCostAboutTenRequestsPerInterval(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		old := time.Now().Add(-20 * time.Hour) // so the interval is the ceiling: ten minutes
		i := 0
		w.submitAs(func(b *events.Batch) {
			next := time.Now().Add(time.Duration(i) * 600 * time.Millisecond) // all over the first interval
			i++
			b.SubmittedAt, b.NextPollAt, b.PolledAt = &old, &next, &old
			b.Status, b.Counts.Total = doubleword.StatusInProgress, 1
		}, upTo(1000)...)
		p := w.run(w.config())
		var spent []int
		for range 3 {
			before := w.calls(list)
			pass(10 * time.Minute)
			spent = append(spent, w.calls(list)-before)
		}
		p.end()
		w.want("requests for one batch", w.calls(get), 0)
		for at, n := range spent {
			// The jitter of a tenth lets two rounds begin within one of these intervals; a round is ten requests, with some for stragglers.
			if n < 10 || n > 25 {
				t.Errorf("interval %d: %d list requests, of %v", at, n, spent)
			}
		}
		t.Logf("list requests per interval: %v", spent)
		for _, n := range upTo(1000) {
			if b := w.batch(n); b.PolledAt == nil || time.Since(*b.PolledAt) > 11*time.Minute {
				t.Fatalf("batch %s was polled at %v", n, b.PolledAt)
			}
		}
	})
}
