package collector_test

import (
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestAnAnswerOfABatchWithOtherRowsCountsOnlyWhereItsIDNamesTheRowOfItsPlace(t *testing.T) {
	t.Parallel()
	ids := []string{"a", "b", strings.Repeat("long", 20), "d", "e"}
	inWorld(t, ids, func(w *world) {
		w.edit(events.BatchProgress, func(b *events.Batch) { b.Fenced, b.ForeignDigest = true, "d2" })
		s := w.service(nil)
		w.out.lines = []string{
			okLine("1~another", `{"of":"another row"}`), okLine("0~b", `{"of":"b, at another place"}`),
			okLine("0~a", answerBody("answer to a", 10)), okLine("2~", `{"of":"nobody knows"}`), okLine("9~e", `{}`),
		}
		w.errs.lines = []string{failLine("3~d"), failLine("4~another")}
		w.collect(s)
		w.want("results while it runs", w.outcomes(), map[string]int{"succeeded": 1})
		w.finish("completed", 5, 2)
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 1, "failed bad_temperature": 1})
		if got := string(w.results()["a"].Response); !strings.Contains(got, "answer to a") {
			t.Errorf("a has the answer %s", got)
		}
		b := w.batch()
		w.want("follow-ups", b.FollowUps, []string{"1-1"})
		child, err := w.jobs.Batch(w.ctx(), queue, job, "1-1")
		w.ok(err)
		w.want("the follow-up's rows", child.Rows, 3)
		notes := strings.Join(w.events(events.BatchOrphanResult), " ")
		for _, id := range []string{`"1~another"`, `"0~b"`, `"2~"`, `"9~e"`, `"4~another"`} {
			if !strings.Contains(notes, id) {
				t.Errorf("no event tells of %s: %s", id, notes)
			}
		}
	})
}

func TestABatchThatIsBeingAbandonedIsLeftToTheSubmitter(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.answers(0)
		w.finish("cancelled", 1, 0)
		w.edit(events.BatchAbandoning, func(b *events.Batch) {
			b.Hold = &events.Hold{Code: events.HoldNeedsAttention}
			b.Wish = &events.Wish{Kind: events.WishAbandon, Hold: events.HoldNeedsAttention, At: time.Now()}
		})
		w.collect(w.service(nil))
		w.want("results", len(w.results()), 0)
		w.want("state", w.batch().State, events.BatchFinished)
	})
}
