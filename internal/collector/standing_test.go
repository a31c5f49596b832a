package collector_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/events"
)

// A submitter that dies between the result of a refused row and the batch's end leaves such a row, when the provider takes it the next time.
func TestARowThatWasAnsweredBeforeCountsAsWhatItsResultSays(t *testing.T) {
	t.Parallel()
	inWorld(t, named(3), func(w *world) {
		_, err := w.f.Store.PublishOnce(w.ctx(), messages.Result(&events.Result{
			CustomID: "row-00001", Queue: queue, Job: job, Outcome: events.Rejected, Batch: "1", Attempt: 1, CompletedAt: time.Now(),
		}, hashOf("from row-00001")))
		w.ok(err)
		w.answers(0, 1, 2)
		w.finish("completed", 3, 0)
		w.untilSettled(w.service(nil))
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2, "rejected": 1})
		w.want("totals", *w.batch().Totals, events.Totals{
			Rows: 3, Succeeded: 2, Rejected: 1, Usage: events.Usage{PromptTokens: 2, CompletionTokens: 20, TotalTokens: 22},
		})
	})
}
