package collector_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestARowInNeitherFileIsMissingAfterTheGrace(t *testing.T) {
	t.Parallel()
	inWorld(t, named(5), func(w *world) {
		s := w.service(nil)
		w.answers(0, 1, 2, 3)
		w.finish("completed", 5, 0)
		w.want("wait", w.collect(s), 2*time.Minute)
		b := w.batch()
		w.want("why", b.Why, "rows are in neither file")
		w.want("next try", time.Until(*b.NextTryAt), 2*time.Minute)
		w.want("results", len(w.results()), 4)
		for _, call := range []string{"out 0 0", "err 0 0", "out 0 101", "err 0 101", "merged 0 0"} {
			if !slices.Contains(w.p.calls, call) {
				t.Errorf("never read: %s of %v", call, w.p.calls)
			}
		}
		w.want("time to settle", w.untilSettled(s), 2*time.Minute)
		r := w.results()["row-00004"]
		w.want("outcome, code, retryable", []any{r.Outcome, r.Error.Code, r.Error.Retryable}, []any{"failed", "missing_result", true})
		w.want("attempt", r.Attempt, 1)
		w.want("why after", w.batch().Why, "")
	})
}

func TestARowThatComesDuringTheGraceIsItsResult(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		s := w.service(nil)
		w.answers(0)
		w.finish("completed", 2, 0)
		w.collect(s)
		w.out.lines = append([]string{okLine(w.wire(1), `{"late":true}`)}, w.out.lines...)
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2})
	})
}

func TestARowThatOnlyTheMergedResultsShowIsFound(t *testing.T) {
	t.Parallel()
	inWorld(t, named(3), func(w *world) {
		w.answers(0)
		w.p.merge.lines = []string{
			`{"id":"x","custom_id":"0~row-00000","model":"m","response_body":{"a":0},"error":null,"status":"completed"}`,
			`{"id":"y","custom_id":"1~row-00001","model":"m","response_body":{"a":1},"error":null,"status":"completed"}`,
			`{"id":"z","custom_id":"2~row-00002","model":"m","response_body":null,"error":null,"status":"pending"}`,
		}
		w.finish("completed", 3, 0)
		w.untilSettled(w.service(nil))
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2, "failed missing_result": 1})
		r := w.results()["row-00001"]
		w.want("answer", string(r.Response), `{"a":1}`)
		w.want("status", r.StatusCode, http.StatusOK)
	})
}

func TestEachWayToEndSettlesTheBatchOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status string
		errs   []doubleword.BatchError
		done   int
		grace  time.Duration
		want   map[string]int
	}{
		"cancelled: what ran is kept, the rest is cancelled after an hour": {
			status: "cancelled", done: 3, grace: time.Hour, want: map[string]int{"succeeded": 3, "cancelled job_cancelled": 2},
		},
		"cancelling for ever counts as cancelled": {status: "cancelling", grace: time.Hour, want: map[string]int{"cancelled job_cancelled": 5}},
		"expired: what ran is kept, the rest is expired": {
			status: "expired", done: 3, grace: 2 * time.Minute, want: map[string]int{"succeeded": 3, "expired window_expired": 2},
		},
		"failed as a whole: every row has the provider's message": {
			status: "failed", errs: []doubleword.BatchError{{Code: "bad_file", Message: "no rows for you"}}, grace: 2 * time.Minute,
			want: map[string]int{"failed bad_file": 5},
		},
		"failed before it had rows, without a word": {status: "failed", grace: 2 * time.Minute, want: map[string]int{"failed missing_result": 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(5), func(w *world) {
				s := w.service(nil)
				w.answers([]int{0, 1, 2}[:c.done]...)
				w.p.batch.Errors = c.errs
				w.finish(c.status, c.done, 0)
				w.want("time to settle", w.untilSettled(s), c.grace)
				w.want("outcomes", w.outcomes(), c.want)
				w.want("settled events", len(w.events(events.BatchIsSettled)), 1)
				w.collect(s)
				w.want("settled events after another hint", len(w.events(events.BatchIsSettled)), 1)
				if slices.ContainsFunc(w.p.calls, func(call string) bool { return strings.HasSuffix(call, " 101") }) {
					t.Error("files were read page by page though the counts name no row that is missing")
				}
			})
		})
	}
}

func TestAllRowsFailed(t *testing.T) {
	t.Parallel()
	for name, outputID := range map[string]string{"the output file is empty": "out", "there is no output file": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(3), func(w *world) {
				for place := range 3 {
					w.errs.lines = append(w.errs.lines, failLine(w.wire(place)))
				}
				w.finish("failed", 0, 3)
				w.edit(events.BatchProgress, func(b *events.Batch) { b.OutputFileID = outputID })
				w.want("wait", w.collect(w.service(nil)), time.Duration(0))
				w.want("outcomes", w.outcomes(), map[string]int{"failed bad_temperature": 3})
				r := w.results()["row-00000"]
				w.want("message, status", []any{r.Error.Message, r.StatusCode}, []any{"too hot", 400})
				for _, call := range w.p.calls {
					if strings.HasPrefix(call, " ") {
						t.Error("content of no file was asked for")
					}
				}
			})
		})
	}
}

func TestALateRowOfACancelledBatch(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		s := w.service(func(c *collector.Config) { c.CancelGrace = time.Second })
		w.answers(0)
		w.finish("cancelled", 1, 0)
		w.want("wait", w.collect(s), time.Second)
		w.answers(1)
		w.p.batch.Counts.Completed = 2
		w.untilSettled(s)
		results := w.results()
		w.want("late", []bool{results["row-00000"].Late, results["row-00001"].Late}, []bool{false, true})
	})
}

func TestRowsThatAFencedBatchLacksGoToAFollowUp(t *testing.T) {
	t.Parallel()
	inWorld(t, named(4), func(w *world) {
		s := w.service(nil)
		w.answers(2)
		w.edit(events.BatchProgress, func(b *events.Batch) { b.Fenced = true })
		w.finish("cancelled", 1, 0)
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 1})
		b := w.batch()
		w.want("follow-ups", b.FollowUps, []string{"1-1"})
		child, err := w.jobs.Batch(w.ctx(), queue, job, "1-1")
		w.ok(err)
		w.want("child", []any{child.State, child.Rows, child.Parent}, []any{"planned", 3, "1"})
		w.want("totals", b.Totals.Rows, 1)
		j, err := w.jobs.Job(w.ctx(), queue, job)
		w.ok(err)
		w.want("job", j.State, events.JobPlanned)
	})
}

func TestAProviderThatDoesNotAnswerEndsNoRow(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		s := w.service(nil)
		w.out.err = &doubleword.Error{Status: http.StatusUnauthorized, Class: doubleword.Permanent}
		w.finish("completed", 2, 0)
		for range 20 {
			wait := w.collect(s)
			if wait < 5*time.Second {
				t.Fatalf("comes again after %s", wait)
			}
			pass(wait)
		}
		w.want("results", len(w.results()), 0)
		if b := w.batch(); !strings.Contains(b.LastError, "401") {
			t.Errorf("last error %q", b.LastError)
		}
		w.want("calls for attention", len(w.events(events.BatchNeedsAttention)), 1)
		w.out.err = nil
		w.answers(0, 1)
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2})
		w.want("hold", w.batch().Hold, (*events.Hold)(nil))
	})
}

func TestABatchThatRunsAgainGoesBackToThePoller(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.answers(0)
		w.finish("completed", 2, 0)
		w.p.batch.Status = "in_progress"
		w.collect(w.service(nil))
		b := w.batch()
		w.want("state", b.State, events.BatchSubmitted)
		if b.NextPollAt == nil {
			t.Error("nobody will poll it")
		}
	})
}
