package collector_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestARowThatNeverGotAnAnswerIsSentAgain(t *testing.T) { // P19, P31
	t.Parallel()
	inWorld(t, named(5), func(w *world) {
		w.retries(2, events.RetryMissingResult)
		w.answers(0, 1, 2, 3)
		w.finish("completed", 5, 0)
		w.untilSettled(w.service(nil))
		w.want("results", len(w.results()), 4)
		b := w.batch()
		w.want("follow-ups", b.FollowUps, []string{"1-1"})
		w.want("rows of the parent's totals", b.Totals.Rows, 4)
		child := w.batchOf("1-1")
		w.want("child", []any{child.State, child.Parent, child.Rows, child.Hold == nil}, []any{"planned", "1", 1, true})
		w.want("its rows", w.attempts("1-1"), []string{"row-00004:2"})
		w.want("planned events", len(w.events(events.BatchIsPlanned)), 1)
		w.want("job", w.job().State, events.JobPlanned)
		w.runChild("1-1", "completed", []string{okLine("0~row-00004", answerBody("at last", 10))}, nil)
		r := w.results()["row-00004"]
		w.want("outcome, attempt, batch", []any{r.Outcome, r.Attempt, r.Batch}, []any{"succeeded", 2, "1-1"})
		w.conserved()
	})
}

func TestARowThatStaysMissingEndsWithItsLastAttempt(t *testing.T) {
	t.Parallel()
	inWorld(t, named(3), func(w *world) {
		w.retries(3, events.RetryMissingResult)
		w.answers(0, 1)
		w.finish("completed", 3, 0)
		w.untilSettled(w.service(nil))
		w.runChild("1-1", "completed", nil, nil)
		w.want("grandchild", w.attempts("1-1-1"), []string{"row-00002:3"})
		w.runChild("1-1-1", "completed", nil, nil)
		r := w.results()["row-00002"]
		w.want("outcome, code, attempt", []any{r.Outcome, r.Error.Code, r.Attempt}, []any{"failed", "missing_result", 3})
		w.want("follow-ups of the last", len(w.batchOf("1-1-1").FollowUps), 0)
		w.conserved()
	})
}

func TestAnExpiredBatchKeepsWhatRanAndSendsTheRestAgain(t *testing.T) { // P28
	t.Parallel()
	for name, listed := range map[string]bool{"rows are absent": false, "rows stand in the error file": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(200), func(w *world) {
				w.retries(2, events.RetryExpired)
				want := []string{}
				for place := range 200 {
					switch {
					case place < 142:
						w.answers(place)
						continue
					case listed:
						w.errs.lines = append(w.errs.lines, `{"id":"r","custom_id":`+quote(w.wire(place))+
							`,"response":null,"error":{"code":"batch_expired","message":"This request could not be executed in time."}}`)
					}
					want = append(want, w.ids[place]+":2")
				}
				failed := 0
				if listed {
					failed = 58
				}
				w.finish("expired", 142, failed)
				w.untilSettled(w.service(nil))
				w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 142})
				w.want("follow-up", w.attempts("1-1"), want)
				var lines []string
				for i, id := range w.ids[142:] {
					lines = append(lines, okLine(fmt.Sprintf("%d~%s", i, id), answerBody("later", 10)))
				}
				w.runChild("1-1", "completed", lines, nil)
				w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 200})
				w.conserved()
			})
		})
	}
}

func TestRowsThatTheErrorFileCallsExpiredOrCancelledEndSo(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		for place, code := range []string{"batch_expired", "batch_cancelled"} {
			w.errs.lines = append(w.errs.lines,
				`{"custom_id":`+quote(w.wire(place))+`,"response":null,"error":{"code":"`+code+`","message":"too late"}}`)
		}
		w.finish("expired", 0, 2)
		w.untilSettled(w.service(nil))
		w.want("outcomes", w.outcomes(), map[string]int{"expired window_expired": 1, "cancelled job_cancelled": 1})
		w.want("message", w.results()["row-00000"].Error.Message, "too late")
	})
}

func TestWhatAPolicyDoesNotNameOrAPermanentErrorIsFinal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		on     []string
		status string
		line   string
		cancel bool
		want   string // the outcome and code; empty: a follow-up
	}{
		"a retryable failure, named":                             {on: []string{"failed"}, line: busy},
		"a retryable failure, not named":                         {on: []string{"missing_result", "expired"}, line: busy, want: "failed RetriableHttpStatus"},
		"a permanent failure, named":                             {on: []string{"failed"}, line: permanent, want: "failed NonRetriableHttpStatus"},
		"a row cancelled at the provider, not named":             {on: []string{"failed", "missing_result", "expired"}, status: "cancelled", want: "cancelled job_cancelled"},
		"a row cancelled at the provider, named":                 {on: []string{"cancelled"}, status: "cancelled"},
		"a missing row of a cancelled job":                       {on: []string{"missing_result"}, cancel: true, want: "failed missing_result"},
		"a retryable failure of a cancelled job":                 {on: []string{"failed"}, line: busy, cancel: true, want: "failed RetriableHttpStatus"},
		"a row stopped for credit, where failures are final":     {on: []string{"missing_result"}, line: noCredit, want: "failed out_of_credit"},
		"a row that lost its access, where failures are final":   {on: []string{"missing_result"}, line: noAccess, want: "failed access_lost"},
		"a row cancelled at the provider with its job, named":    {on: []string{"cancelled"}, status: "cancelled", cancel: true, want: "cancelled job_cancelled"},
		"an expired row, not named":                              {on: []string{"failed"}, status: "expired", want: "expired window_expired"},
		"a malformed line, where failures are named":             {on: []string{"failed"}, line: "malformed"},
		"a malformed line, where only absent rows are sent anew": {on: []string{"missing_result"}, line: "malformed", want: "failed malformed_result"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(2), func(w *world) {
				w.retries(2, c.on...)
				w.answers(0)
				failed := 0
				if c.line != "" {
					w.errs.lines, failed = []string{errorLine(w.wire(1), c.line)}, 1
				}
				if c.line == "malformed" {
					w.errs.lines = []string{`{"id":"r","custom_id":` + quote(w.wire(1)) + `,"response":null,"error":null}`}
				}
				if c.cancel {
					w.editJob(func(j *events.Job) { j.CancelWanted = new(time.Now()) })
				}
				status := "completed"
				if c.status != "" {
					status = c.status
				}
				w.finish(status, 1, failed)
				w.untilSettled(w.service(nil))
				if c.want == "" {
					w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 1})
					w.want("follow-up", w.attempts("1-1"), []string{"row-00001:2"})
					return
				}
				w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 1, c.want: 1})
				w.conserved()
			})
		})
	}
}
