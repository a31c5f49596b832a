package collector_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestFilesThatAreGoneAreAnOutageFirst(t *testing.T) {
	t.Parallel()
	gone := &doubleword.Error{Status: http.StatusNotFound, Class: doubleword.Permanent}
	t.Run("that passes", func(t *testing.T) {
		t.Parallel()
		inWorld(t, named(2), func(w *world) {
			s := w.service(nil)
			w.answers(0, 1)
			w.out.err = gone
			w.finish("completed", 2, 0)
			w.want("wait", w.collect(s), 10*time.Minute)
			w.want("why", w.batch().Why, "provider does not hand out the files")
			w.out.err = nil
			w.want("wait", w.collect(s), time.Duration(0))
			w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2})
		})
	})
	t.Run("that stays", func(t *testing.T) {
		t.Parallel()
		inWorld(t, named(2), func(w *world) {
			w.out.err, w.errs.err, w.p.err = gone, gone, gone
			w.finish("completed", 2, 0)
			w.resultsGone()
		})
	})
}

// resultsGone collects for an hour: nothing is ended, and a person is called once.
func (w *world) resultsGone() {
	w.t.Helper()
	w.retries(2, events.RetryMissingResult)
	s := w.service(nil)
	begin := time.Now()
	looks := 0
	for ; time.Since(begin) < time.Hour; looks++ {
		pass(w.collect(s))
	}
	if looks > 45 {
		w.t.Errorf("%d looks in an hour", looks)
	}
	w.want("results", len(w.results()), 0)
	w.want("calls for attention", len(w.events(events.BatchNeedsAttention)), 1)
	b := w.batch()
	w.want("state, follow-ups", []any{b.State, len(b.FollowUps)}, []any{"finished", 0})
	if b.Hold == nil || b.Hold.Code != events.HoldNeedsAttention || !strings.HasPrefix(b.Hold.Message, "results_gone: ") {
		w.t.Errorf("hold %+v", b.Hold)
	}
}

func TestResultFilesThatWereDeletedCallAPersonAndNothingIsPaidAgain(t *testing.T) { // D16, P61, contract 9.18
	t.Parallel()
	for name, prepare := range map[string]func(w *world){
		"410, and the batch is still known": func(w *world) {
			gone := &doubleword.Error{Status: http.StatusGone, Class: doubleword.Permanent}
			w.out.err, w.merge().err = gone, gone
		},
		"404, and the batch is deleted": func(w *world) {
			gone := &doubleword.Error{Status: http.StatusNotFound, Class: doubleword.Permanent}
			w.out.err, w.errs.err, w.merge().err, w.p.err = gone, gone, gone, gone
		},
		"an empty 200 after the purge": func(w *world) {},
		"an empty 200, and rows that are pending in the merged results": func(w *world) {
			w.merge().lines = []string{`{"id":"x","custom_id":"0~row-00000","response_body":null,"error":null,"status":"pending"}`}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(2), func(w *world) {
				prepare(w)
				w.finish("completed", 2, 0)
				w.resultsGone()
			})
		})
	}
}

func TestResultFilesThatComeBackEndTheCallForAPerson(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.finish("completed", 2, 0)
		w.resultsGone()
		w.answers(0, 1)
		w.untilSettled(w.service(nil))
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2})
		w.want("hold", w.batch().Hold, (*events.Hold)(nil))
	})
}

func TestACancelledJobWaitsForNoDeletedResults(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.editJob(func(j *events.Job) { j.CancelWanted = new(time.Now()) })
		w.finish("cancelled", 2, 0)
		w.want("time to settle", w.untilSettled(w.service(nil)), time.Hour)
		w.want("outcomes", w.outcomes(), map[string]int{"cancelled job_cancelled": 2})
	})
}

func TestOneRowThatIsCountedAndStandsNowhereIsMissing(t *testing.T) { // P31
	t.Parallel()
	inWorld(t, named(1), func(w *world) {
		w.finish("completed", 1, 0)
		w.want("time to settle", w.untilSettled(w.service(nil)), 2*time.Minute)
		w.want("outcomes", w.outcomes(), map[string]int{"failed missing_result": 1})
	})
}
