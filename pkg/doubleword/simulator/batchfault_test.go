package simulator_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// pair makes two batches of the same rows: faults hit the first alone, unless they say otherwise.
func pair(t *testing.T, cfg simulator.Config, rows string) (p *provider, hit, spared batchIDs) {
	t.Helper()
	p = start(t, cfg)
	file := p.upload(rows)
	return p, p.create(file), p.create(file)
}

func (p *provider) status(id string) string {
	p.t.Helper()
	return p.get("/v1/batches/" + id).json(p.t)["status"].(string)
}

func (p *provider) counts(id string) (completed, failed float64) {
	p.t.Helper()
	counts := p.get("/v1/batches/" + id).json(p.t)["request_counts"].(map[string]any)
	return counts["completed"].(float64), counts["failed"].(float64)
}

func (p *provider) cancel(id string) {
	p.t.Helper()
	if a := p.call(http.MethodPost, "/v1/batches/"+id+"/cancel", ""); a.status != http.StatusOK {
		p.t.Fatalf("cancel: %d %s", a.status, a.body)
	}
}

func TestAFrozenBatchStaysValidatingAndThenCancelling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, hit, spared := pair(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultFrozenValidating}}}, chatRows(3))
		time.Sleep(23 * time.Hour)
		if p.status(hit.id) != "validating" || p.status(spared.id) != "completed" {
			t.Errorf("%s, %s", p.status(hit.id), p.status(spared.id))
		}
		p.cancel(hit.id)
		time.Sleep(time.Hour)
		if a := p.content(hit.output, ""); p.status(hit.id) != "cancelling" || a.header.Get("X-Incomplete") != "true" {
			t.Errorf("%s, %v", p.status(hit.id), a.header)
		}
	})
}

func TestAFrozenBatchThawsByTimeOrByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, first, second := pair(t, simulator.Config{Faults: []simulator.Fault{
			{Kind: simulator.FaultFrozenValidating, Delay: time.Minute}, {Kind: simulator.FaultFrozenValidating, Nth: 2},
		}}, chatRows(3))
		time.Sleep(time.Minute + time.Second)
		if p.status(first.id) != "completed" || p.status(second.id) != "validating" {
			t.Errorf("after a minute %s, %s", p.status(first.id), p.status(second.id))
		}
		if err := p.sim.SetFaults(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := p.status(second.id); got != "completed" {
			t.Errorf("without the fault %s", got)
		}
	})
}

func TestACancelCanLookUnfinished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, hit, spared := pair(t, simulator.Config{RowsPerSecond: 1, Faults: []simulator.Fault{
			{Kind: simulator.FaultFrozenCancelling, Delay: time.Hour},
		}}, chatRows(30))
		time.Sleep(10 * time.Second)
		p.cancel(hit.id)
		p.cancel(spared.id)
		b := p.get("/v1/batches/" + hit.id).json(t)
		if b["status"] != "cancelling" || b["cancelled_at"] != nil || p.status(spared.id) != "cancelled" {
			t.Errorf("%v, %s", b, p.status(spared.id))
		}
		if listed := p.get("/v1/batches").body; strings.Count(listed, `"status":"cancelling"`) != 1 {
			t.Errorf("the list says %s", listed)
		}
		time.Sleep(time.Hour)
		if got := p.status(hit.id); got != "cancelled" {
			t.Errorf("in the end %s", got)
		}
	})
}

func TestAColdModelRunsNothingUntilTheWindowIsAlmostOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, hit, spared := pair(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultColdModel}}}, chatRows(3))
		time.Sleep(23 * time.Hour)
		if b := p.get("/v1/batches/" + hit.id).json(t); b["status"] != "in_progress" || b["expired_at"] != nil {
			t.Errorf("after 23 hours %v", b)
		}
		if got := p.status(spared.id); got != "completed" {
			t.Errorf("the warm one %s", got)
		}
		time.Sleep(2 * time.Minute) // 58.7 minutes before its end
		if got := p.status(hit.id); got != "completed" {
			t.Errorf("after the hour %s", got)
		}
	})
}

func TestABatchBeyondItsDeadlineSaysSoAndGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, hit, spared := pair(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultColdModel, Delay: 25 * time.Hour}}}, chatRows(3))
		time.Sleep(24*time.Hour + time.Minute)
		b := p.get("/v1/batches/" + hit.id).json(t)
		if b["status"] != "in_progress" || b["expired_at"] != b["expires_at"] {
			t.Errorf("%v", b)
		}
		if b := p.get("/v1/batches/" + spared.id).json(t); b["status"] != "completed" || b["expired_at"] == nil {
			t.Errorf("a finished one viewed late: %v", b)
		}
		time.Sleep(time.Hour)
		if got := p.status(hit.id); got != "completed" {
			t.Errorf("in the end %s", got)
		}
	})
}

func TestWithoutCreditTheQueueDrainsIntoTheErrorFileAtFullSpeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, hit, spared := pair(t, simulator.Config{RowsPerSecond: 1, Faults: []simulator.Fault{{Kind: simulator.FaultCreditOut, Rows: 10}}}, chatRows(600))
		time.Sleep(12 * time.Second)
		if done, failed := p.counts(hit.id); done != 10 || failed != 590 || p.status(hit.id) != "completed" {
			t.Errorf("%v completed, %v failed, %s", done, failed, p.status(hit.id))
		}
		if done, failed := p.counts(spared.id); done > 13 || failed != 0 {
			t.Errorf("the other: %v completed, %v failed", done, failed)
		}
		bad := p.content(hit.errors, "?limit=1").body
		if !strings.Contains(bad, `{\"type\":\"NonRetriableHttpStatus\",\"details\":{\"status\":402,`) || !strings.Contains(bad, "Insufficient balance") {
			t.Errorf("%s", bad)
		}
		if l := p.sim.Ledger(); l.Creates[0].RowsRun != 10 {
			t.Errorf("%d rows ran", l.Creates[0].RowsRun)
		}
		if err := p.sim.SetFaults(); err != nil { // topped up
			t.Fatal(err)
		}
		p.call(http.MethodPost, "/v1/batches/"+hit.id+"/retry", "")
		time.Sleep(time.Hour)
		if done, failed := p.counts(hit.id); done != 600 || failed != 0 {
			t.Errorf("after the top-up %v completed, %v failed", done, failed)
		}
	})
}

func TestCreditComesBackByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, simulator.Config{Latency: time.Minute, Faults: []simulator.Fault{
			{Kind: simulator.FaultCreditOut, Status: 403, Count: -1, Delay: 2 * time.Minute},
			{Kind: simulator.FaultColdModel, Nth: 2, Delay: 3 * time.Minute},
		}})
		file := p.upload(chatRows(3))
		early, late := p.create(file), p.create(file)
		time.Sleep(5 * time.Minute)
		if _, failed := p.counts(early.id); failed != 3 || p.status(early.id) != "failed" || !strings.Contains(p.content(early.errors, "").body, `\"status\":403`) {
			t.Errorf("%v failed", failed)
		}
		if done, _ := p.counts(late.id); done != 3 {
			t.Errorf("%v completed", done)
		}
	})
}

func TestRowsFinishAfterTheCancelAndAreBilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, hit, spared := pair(t, simulator.Config{RowsPerSecond: 1, Faults: []simulator.Fault{
			{Kind: simulator.FaultLateAfterCancel, Rows: 4, Delay: 10 * time.Minute},
		}}, chatRows(30))
		time.Sleep(10500 * time.Millisecond)
		p.cancel(hit.id)
		p.cancel(spared.id)
		before := p.content(hit.output, "")
		billed := p.get("/v1/batches/" + hit.id + "/analytics").json(t)
		if before.header.Get("X-Incomplete") != "false" || len(lines(before.body)) != 10 {
			t.Fatalf("%v, %d lines", before.header, len(lines(before.body)))
		}
		time.Sleep(10*time.Minute + time.Second)
		after := p.content(hit.output, "")
		if len(lines(after.body)) != 14 || !strings.HasPrefix(after.body, before.body) || p.status(hit.id) != "cancelled" {
			t.Errorf("%d lines, %s", len(lines(after.body)), p.status(hit.id))
		}
		if more := p.get("/v1/batches/" + hit.id + "/analytics").json(t); more["total_cost"] == billed["total_cost"] || more["total_requests"] != 14.0 {
			t.Errorf("billed %v, then %v", billed, more)
		}
		if done, _ := p.counts(spared.id); done != 10 {
			t.Errorf("the other %v", done)
		}
		if l := p.sim.Ledger(); l.Creates[0].RowsRun != 14 {
			t.Errorf("%d rows ran", l.Creates[0].RowsRun)
		}
	})
}

func TestAnOperatorRetriesBehindOurBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, hit, spared := pair(t, simulator.Config{Seed: 3, FailureRate: 0.5, RowsPerSecond: 10, Faults: []simulator.Fault{
			{Kind: simulator.FaultOperatorRetry, Delay: time.Hour},
		}}, chatRows(60))
		time.Sleep(time.Minute)
		ended := p.get("/v1/batches/" + hit.id).json(t)
		_, failed := p.counts(hit.id)
		if ended["status"] != "completed" || failed < 10 {
			t.Fatalf("%v", ended)
		}
		time.Sleep(59*time.Minute + 6500*time.Millisecond) // the last row ended after six seconds
		b := p.get("/v1/batches/" + hit.id).json(t)
		if b["status"] != "in_progress" || b["completed_at"] != nil || len(lines(p.content(hit.errors, "").body)) >= int(failed) {
			t.Errorf("%v", b)
		}
		time.Sleep(2 * time.Hour)
		_, after := p.counts(hit.id)
		_, still := p.counts(spared.id)
		if p.status(hit.id) != "completed" || after >= failed || still != failed {
			t.Errorf("%v failed of %v, %v of the other", after, failed, still)
		}
		if l := p.sim.Ledger(); l.Calls["POST /v1/batches/{id}/retry"] != 0 || l.Creates[0].RowsRun != 60+int(failed) {
			t.Errorf("%v", l.Creates[0])
		}
	})
}

func TestAnOperatorRevivesACancelledBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, hit, spared := pair(t, simulator.Config{RowsPerSecond: 1, Faults: []simulator.Fault{
			{Kind: simulator.FaultOperatorRetry, Delay: time.Minute}, {Kind: simulator.FaultLateAfterCancel, Delay: 2 * time.Minute, Count: 2},
		}}, chatRows(30))
		time.Sleep(10500 * time.Millisecond)
		p.cancel(hit.id)
		p.cancel(spared.id)
		time.Sleep(5 * time.Minute)
		done, _ := p.counts(hit.id)
		still, _ := p.counts(spared.id)
		if done != 30 || p.status(hit.id) != "completed" || still != 20 || p.status(spared.id) != "cancelled" {
			t.Errorf("%v %s, %v %s", done, p.status(hit.id), still, p.status(spared.id))
		}
		if out := p.content(hit.output, "").body; strings.Count(out, "\n") != 30 || strings.Count(out, `"custom_id":"row-0029"`) != 1 {
			t.Errorf("%d lines", strings.Count(out, "\n"))
		}
	})
}

func TestAnalyticsComeLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, hit, spared := pair(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultAnalyticsLag, Rows: 2, Delay: time.Minute}}}, chatRows(5))
		time.Sleep(time.Second)
		requests := func(id string) any { return p.get("/v1/batches/" + id + "/analytics").json(t)["total_requests"] }
		if requests(hit.id) != 2.0 || requests(spared.id) != 5.0 {
			t.Errorf("%v, %v", requests(hit.id), requests(spared.id))
		}
		time.Sleep(time.Minute)
		if requests(hit.id) != 5.0 {
			t.Errorf("%v in the end", requests(hit.id))
		}
	})
}
