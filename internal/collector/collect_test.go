package collector_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestResultsFlowBeforeTheBatchHasEnded(t *testing.T) {
	t.Parallel()
	inWorld(t, named(3), func(w *world) {
		s := w.service(nil)
		w.answers(1)
		w.errs.lines = []string{failLine(w.wire(2))}
		w.collect(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 1})
		w.want("cursor", w.cursor().OutputLines, 1)
		r := w.results()["row-00001"]
		w.want("source", r.header.Get(events.HeaderSource), hashOf("from row-00001"))
		w.want("attempt, batch, provider ids", []any{r.Attempt, r.Batch, r.ProviderBatchID, r.ProviderRequestID},
			[]any{1, "1", "remote", "batch_req_1~row-00001"})
		w.answers(0)
		w.finish("completed", 2, 1)
		w.want("wait", w.collect(s), time.Duration(0))
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2, "failed bad_temperature": 1})
		w.want("totals", *w.batch().Totals, events.Totals{
			Rows: 3, Succeeded: 2, Failed: 1, Usage: events.Usage{PromptTokens: 2, CompletionTokens: 20, TotalTokens: 22},
		})
		j, err := w.jobs.Job(w.ctx(), queue, job)
		w.ok(err)
		w.want("job", j.State, events.JobCompleted)
	})
}

func TestAFailureThatTheProviderTakesBackIsNoResult(t *testing.T) {
	t.Parallel()
	inWorld(t, named(1), func(w *world) {
		s := w.service(nil)
		refused := strings.Replace(okLine(w.wire(0), `{"error":{"message":"no","code":"unsupported_parameter"}}`), "200", "400", 1)
		w.out.lines = []string{refused}
		w.errs.lines = []string{failLine(w.wire(0))}
		w.collect(s)
		w.want("results", len(w.results()), 0)
		w.out.lines, w.errs.lines = nil, nil
		w.answers(0)
		w.finish("completed", 1, 0)
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 1})
	})
}

func TestAnIgnoredCursorMakesNoDuplicatesAndNoLoop(t *testing.T) {
	t.Parallel()
	inWorld(t, named(10), func(w *world) {
		s := w.service(nil)
		w.out.ignoreSkip = true
		w.answers(0, 1, 2, 3)
		w.collect(s)
		w.answers(4, 5, 6)
		w.collect(s)
		w.want("cursor", w.cursor().OutputLines, 7)
		w.answers(7, 8, 9)
		w.finish("completed", 10, 0)
		w.untilSettled(s)
		w.want("results", len(w.results()), 10)
		w.want("usage", w.batch().Totals.Usage.CompletionTokens, 100)
	})
}

func TestARowBehindTheCursorIsFoundAtTheEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, named(4), func(w *world) {
		s := w.service(nil)
		w.answers(0, 1)
		w.collect(s)
		w.out.lines = append([]string{okLine(w.wire(2), `{}`)}, w.out.lines...)
		w.answers(3)
		w.collect(s)
		w.want("results", len(w.results()), 3)
		w.finish("completed", 4, 0)
		w.want("time to settle", w.untilSettled(s), time.Duration(0))
		w.want("results", len(w.results()), 4)
	})
}

func TestWhatCameOfAShortBodyIsKeptAndTheRestReadLater(t *testing.T) {
	t.Parallel()
	for name, clean := range map[string]bool{"a body that breaks off": false, "a body that ends early as if it were whole": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(3), func(w *world) {
				s := w.service(nil)
				w.answers(0, 1, 2)
				w.out.cutAfter, w.out.cutClean = len(w.out.lines[0])+20, clean
				if _, err := s.Collect(w.ctx(), queue, job, "1"); err == nil {
					t.Error("a short body is no error")
				}
				w.want("cursor", w.cursor().OutputLines, 1)
				w.finish("completed", 3, 0)
				w.untilSettled(s)
				w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 3})
			})
		})
	}
}

func TestAHeaderThatPromisesTooMuchHoldsNothingUp(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		s := w.service(nil)
		w.out.overstate = 5
		w.answers(0, 1)
		w.finish("completed", 2, 0)
		w.want("wait", w.collect(s), time.Duration(0))
		w.want("cursor", w.cursor().OutputLines, 2)
	})
}

func TestALastLineThatOnlyLacksItsNewlineIsTaken(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.answers(0, 1)
		w.out.cutAfter, w.out.cutClean = len(w.out.lines[0])+len(w.out.lines[1])+1, true
		w.finish("completed", 2, 0)
		w.want("wait", w.collect(w.service(nil)), time.Duration(0))
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2})
		w.want("cursor", w.cursor().OutputLines, 1)
	})
}

func TestABrokenLineHarmsNoOtherAndIsReadAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, []string{"a", "b", "c"}, func(w *world) {
		s := w.service(nil)
		w.answers(0)
		w.out.lines = append(w.out.lines, `{"custom_id":"1~b",`)
		w.answers(2)
		w.collect(s)
		w.want("results", len(w.results()), 2)
		w.out.lines[1] = okLine(w.wire(1), `{"late":1}`)
		w.finish("completed", 3, 0)
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 3})
	})
}

func TestAnyOrderOfLinesGivesTheSameResults(t *testing.T) {
	t.Parallel()
	inWorld(t, named(300), func(w *world) {
		s := w.service(func(c *collector.Config) { c.CommitRows = 37 })
		w.answers(rand.New(rand.NewPCG(1, 2)).Perm(300)...)
		w.finish("completed", 300, 0)
		w.untilSettled(s)
		results := w.results()
		w.want("results", len(results), 300)
		for _, id := range w.ids {
			if !strings.Contains(string(results[id].Response), "answer to "+id) {
				t.Errorf("%s has the answer %s", id, results[id].Response)
			}
		}
	})
}

func TestTheSameOutputReadFiveTimesCountsUsageOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, named(5), func(w *world) {
		w.out.ignoreSkip = true
		w.answers(0, 1, 2, 3, 4)
		w.out.lines = append(w.out.lines, w.out.lines...) // and every line twice
		for range 5 {
			w.collect(w.service(nil))
		}
		w.want("totals", w.cursor().Totals, events.Totals{
			Rows: 5, Succeeded: 5, Usage: events.Usage{PromptTokens: 5, CompletionTokens: 50, TotalTokens: 55},
		})
		w.want("results", len(w.results()), 5)
	})
}

func TestTwoCollectorsOnOneBatchPublishAndCountEachRowOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, named(5000), func(w *world) {
		w.answers(rand.New(rand.NewPCG(3, 4)).Perm(5000)...)
		w.finish("completed", 5000, 0)
		var group sync.WaitGroup
		for range 2 {
			s := w.service(func(c *collector.Config) { c.CommitRows = 500 })
			group.Go(func() { w.untilSettled(s) })
		}
		group.Wait()
		w.want("results", len(w.results()), 5000)
		w.want("totals", *w.batch().Totals, events.Totals{
			Rows: 5000, Succeeded: 5000, Usage: events.Usage{PromptTokens: 5000, CompletionTokens: 50000, TotalTokens: 55000},
		})
	})
}

func TestIDsThatNobodySentAreEventsAndNobodysAnswer(t *testing.T) {
	t.Parallel()
	inWorld(t, []string{"a", "b"}, func(w *world) {
		s := w.service(nil)
		w.answers(0)
		for _, id := range []string{"7~x", "nonsense", "01~b", "1~"} {
			w.out.lines = append(w.out.lines, okLine(id, `{"stray":1}`))
		}
		w.collect(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 1})
		w.want("notes", w.events(events.BatchOrphanResult), `[answers to ids that nobody sent: "7~x" "nonsense" "01~b" "1~"]`)
		w.collect(s)
		w.want("events", len(w.events(events.BatchOrphanResult)), 1)
	})
}

func TestIDsThatTheWireIDDoesNotHoldAreReadFromTheBlocks(t *testing.T) {
	t.Parallel()
	ids := []string{strings.Repeat("é", 40), strings.Repeat("x", 900), "plain", "with\nline"}
	inWorld(t, ids, func(w *world) {
		w.answers(3, 2, 1, 0)
		w.finish("completed", 4, 0)
		w.untilSettled(w.service(nil))
		results := w.results()
		for _, id := range ids {
			if results[id].Outcome != events.Succeeded {
				t.Errorf("%q has no result", id)
			}
		}
	})
}

func TestAJobWithOpaqueIDs(t *testing.T) {
	t.Parallel()
	inWorld(t, named(250), func(w *world) {
		w.opaque = true
		w.edit(events.BatchProgress, func(b *events.Batch) { b.OpaqueIDs = true })
		w.out.lines = []string{okLine("3~row-00003", `{"an":"id that is not sent here"}`)}
		w.answers(rand.New(rand.NewPCG(5, 6)).Perm(250)...)
		w.finish("completed", 250, 0)
		w.untilSettled(w.service(nil))
		results := w.results()
		w.want("results", len(results), 250)
		for _, id := range w.ids {
			if !strings.Contains(string(results[id].Response), "answer to "+id) {
				t.Errorf("%s has the answer %s", id, results[id].Response)
			}
		}
	})
}
