package submit_test

import (
	"context"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// stoppedIn is a provider during whose create the process is stopped.
type stoppedIn struct {
	submit.Provider

	stop context.CancelFunc
	sent bool // the request had left
}

func (p *stoppedIn) CreateBatch(ctx context.Context, b doubleword.NewBatch) (doubleword.Batch, error) {
	p.stop()
	<-ctx.Done() // the drain time is over
	if p.sent {
		return doubleword.Batch{}, ctx.Err()
	}
	return p.Provider.CreateBatch(ctx, b)
}

func TestAStopDuringACreateIsNotToldAsTheProvidersFault(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]bool{"before it was sent": false, "after it was sent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{}, func(w *world) {
				w.plan(2)
				ctx, stop := context.WithCancel(w.t.Context())
				defer stop()
				_ = w.process(&stoppedIn{Provider: w.client, stop: stop, sent: sent}, nil).Submit(ctx, queue, job, "1")
				b := w.batch("1")
				if !strings.Contains(b.LastError, "this process was stopped") || b.Hold != nil {
					t.Errorf("last error %q, hold %v", b.LastError, b.Hold)
				}
				if want := map[bool]events.BatchState{true: events.BatchCreating, false: events.BatchUploaded}[sent]; b.State != want {
					t.Errorf("state %s, want %s", b.State, want)
				}
				b = w.drive(w.process(w.client, nil), "1")
				w.onlyLive(&b)
			})
		})
	}
}
