package submit_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestARefusedRowThatWasAnsweredBeforeCountsAsWhatItsResultSays(t *testing.T) {
	t.Parallel()
	bubble(t, uploadRefused(400, "Line 2: the row is odd", 1), func(w *world) {
		w.plan(3)
		before := events.Result{
			CustomID: "row-1-1", Queue: queue, Job: job, Outcome: events.Succeeded, Truncated: true, Response: []byte(`{}`),
			Usage: &events.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3}, Batch: "1", Attempt: 1, CompletedAt: time.Now(),
		}
		if _, err := w.bus.PublishOnce(w.t.Context(), messages.Result(&before, block.Hash{1})); err != nil {
			t.Fatal(err)
		}
		parent := w.drive(w.process(w.client, nil), "1")
		want := events.Totals{Rows: 1, Succeeded: 1, Truncated: 1, Usage: *before.Usage}
		if parent.State != events.BatchRefused || *parent.Totals != want {
			t.Errorf("%s, totals %+v, want %+v", parent.State, *parent.Totals, want)
		}
		if r := w.results()["row-1-1"]; r.Outcome != events.Succeeded {
			t.Errorf("result %+v", r)
		}
	})
}
