package collector_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestAPartialFailureIsReadAgainAfterARestartBeforeItsFollowUp(t *testing.T) {
	t.Parallel()
	inWorld(t, named(4), func(w *world) {
		w.retries(2, events.RetryFailed, events.RetryMissingResult)
		w.answers(0)
		w.errs.lines = []string{errorLine(w.wire(1), busy), errorLine(w.wire(2), permanent)}
		w.finish("completed", 1, 2)
		w.want("wait for row 3", w.collect(w.service(nil)), 2*time.Minute)
		w.want("lines of the error file that are over", w.cursor().ErrorLines, 0)
		pass(2 * time.Minute)
		w.untilSettled(w.service(nil)) // another process, which knows nothing of row 1
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 1, "failed NonRetriableHttpStatus": 1})
		w.want("follow-up", w.attempts("1-1"), []string{"row-00001:2", "row-00003:2"})
	})
}

func TestASuccessBesideAFailureWins(t *testing.T) { // P71
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.retries(2, events.RetryFailed)
		w.errs.lines = []string{errorLine(w.wire(0), busy)}
		w.merge().lines = []string{
			`{"id":"x","custom_id":"0~row-00000","model":"m","response_body":{"a":0},"error":null,"status":"completed"}`,
			`{"id":"y","custom_id":"1~row-00001","model":"m","response_body":{"a":1},"error":null,"status":"completed"}`,
		}
		w.finish("completed", 2, 0)
		w.untilSettled(w.service(nil))
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2})
		w.want("follow-ups", len(w.batch().FollowUps), 0)
	})
}

func TestNoFollowUpWhileSomebodyHasTheProviderRunTheBatchAgain(t *testing.T) { // D12, contract 9.16
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.retries(2, events.RetryFailed)
		w.answers(0)
		w.errs.lines = []string{errorLine(w.wire(1), busy)}
		w.finish("completed", 1, 1)
		w.p.change(func() { w.p.batch.Status, w.errs.lines = "in_progress", nil })
		w.errs.lines = []string{errorLine(w.wire(1), busy)} // a picture of before
		w.collect(w.service(nil))
		w.want("state", w.batch().State, events.BatchSubmitted)
		w.want("follow-ups", len(w.batch().FollowUps), 0)
		w.answers(1)
		w.errs.lines = nil
		w.finish("completed", 2, 0)
		w.untilSettled(w.service(nil))
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2})
	})
}

func TestAResultThatStandsAlreadyIsNotPaidAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, named(3), func(w *world) {
		w.retries(2, events.RetryFailed)
		w.answers(0)
		w.errs.lines = []string{errorLine(w.wire(1), busy), errorLine(w.wire(2), busy)}
		w.stand("row-00001", 70) // by a process that died before it could say so
		w.finish("completed", 1, 2)
		w.untilSettled(w.service(nil))
		w.want("follow-up", w.attempts("1-1"), []string{"row-00002:2"})
		w.want("tokens", w.batch().Totals.Usage.CompletionTokens, 80)
	})
}

func TestALateAnswerOfTheParentWinsOverTheFollowUpAndIsCountedOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.retries(2, events.RetryMissingResult)
		w.answers(0)
		w.finish("completed", 2, 0)
		w.untilSettled(w.service(nil))
		w.stand("row-00001", 70) // a slower collector had the line, and publishes it now
		w.runChild("1-1", "completed", []string{okLine("0~row-00001", answerBody("second", 10))}, nil)
		r := w.results()["row-00001"]
		w.want("answer, attempt", []any{string(r.Response), r.Attempt}, []any{`{"first":true}`, 1})
		w.want("tokens of the child", w.batchOf("1-1").Totals.Usage.CompletionTokens, 70)
		w.conserved()
	})
}

func TestACollectorThatComesTooLateMovesNoCursorOfASettledBatch(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.retries(2, events.RetryMissingResult)
		w.answers(0)
		w.finish("completed", 2, 0)
		slow := &gatedProvider{fakeProvider: w.p, opened: make(chan struct{}), release: make(chan struct{})}
		ended := make(chan error, 1)
		late := w.service(func(c *collector.Config) { c.Provider = func(string) (collector.Provider, bool) { return slow, true } })
		go func() { _, err := late.Collect(w.ctx(), queue, job, "1"); ended <- err }()
		<-slow.opened
		w.untilSettled(w.service(nil)) // another replica plans the follow-up meanwhile
		before := w.cursor()
		w.answers(1)
		close(slow.release)
		w.ok(<-ended)
		w.want("cursor", w.cursor(), before)
		w.want("rows of the parent", w.batch().Totals.Rows, 1)
		w.runChild("1-1", "completed", []string{okLine("0~row-00001", answerBody("second", 99))}, nil)
		w.want("attempt of the answer that was first", w.results()["row-00001"].Attempt, 1)
		w.conserved()
	})
}

// gatedProvider holds the first read back until it is released.
type gatedProvider struct {
	*fakeProvider
	once            sync.Once
	opened, release chan struct{}
}

func (p *gatedProvider) Content(ctx context.Context, id string, q doubleword.ContentQuery) (*doubleword.Content, error) {
	p.once.Do(func() {
		close(p.opened)
		<-p.release
	})
	return p.fakeProvider.Content(ctx, id, q)
}

func TestTwoCollectorsPlanOneFollowUp(t *testing.T) {
	t.Parallel()
	inWorld(t, named(300), func(w *world) {
		w.retries(2, events.RetryFailed)
		for place := range 300 {
			if place%3 == 0 {
				w.errs.lines = append(w.errs.lines, errorLine(w.wire(place), busy))
				continue
			}
			w.answers(place)
		}
		w.finish("completed", 200, 100)
		done := make(chan struct{})
		for range 2 {
			s := w.service(func(c *collector.Config) { c.CommitRows = 37 })
			go func() { w.untilSettled(s); done <- struct{}{} }()
		}
		<-done
		<-done
		w.want("results", len(w.results()), 200)
		w.want("follow-ups", w.batch().FollowUps, []string{"1-1"})
		w.want("rows of it", len(w.entries("1-1")), 100)
		w.want("settled events", len(w.events(events.BatchIsSettled)), 1)
	})
}

func TestRowsStoppedForCreditWaitInAHeldFollowUp(t *testing.T) { // contract 7.3, 9.15
	t.Parallel()
	inWorld(t, named(4), func(w *world) {
		w.retries(2, events.RetryFailed)
		w.answers(0)
		w.errs.lines = []string{errorLine(w.wire(1), noCredit), errorLine(w.wire(2), noAccess), errorLine(w.wire(3), busy)}
		w.finish("completed", 1, 3)
		w.untilSettled(w.service(nil))
		w.want("follow-ups", w.batch().FollowUps, []string{"1-1", "1-2"})
		w.want("that may be sent", w.attempts("1-1"), []string{"row-00003:2"})
		w.want("hold of it", w.batchOf("1-1").Hold, (*events.Hold)(nil))
		w.want("that must wait", w.attempts("1-2"), []string{"row-00001:2", "row-00002:2"})
		held := w.batchOf("1-2")
		w.want("hold", held.Hold.Code, events.HoldCredit)
		w.want("held events", len(w.events(events.BatchHeld)), 1)
		if !slices.Contains(events.Endings(held.Hold.Code), events.WishResume) || !strings.Contains(held.Hold.Message, "2 rows") {
			t.Errorf("hold %+v", held.Hold)
		}
	})
}
