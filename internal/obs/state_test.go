package obs_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestTheGaugesTellHowTheBusIs(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	store := jobs.New(f.Store)
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	sealed := ago(time.Hour)
	hold := &events.Hold{Code: events.HoldCredit, At: ago(time.Minute)}
	c := jobs.NewChange(time.Now())
	c.Job(&jobs.Job{Job: events.Job{Queue: "q", Job: "open", State: events.JobOpen}})
	c.Job(&jobs.Job{Job: events.Job{Queue: "q", Job: "late", State: events.JobPlanned, SealedAt: &sealed, Hold: hold}})
	done := ago(9 * time.Hour)
	c.Job(&jobs.Job{Job: events.Job{Queue: "q", Job: "done", State: events.JobCompleted, SealedAt: &done}})
	for n, b := range map[string]events.Batch{
		"1": {State: events.BatchSubmitted, Rows: 10, SinceAt: ago(time.Minute), Overdue: true},
		"2": {State: events.BatchSubmitted, Rows: 5, SinceAt: ago(30 * time.Minute)},
		"3": {State: events.BatchUploaded, Rows: 1, SinceAt: time.Now(), Hold: hold},
		"4": {State: events.BatchSettled, Rows: 100, SinceAt: ago(8 * time.Hour), Hold: hold},
	} {
		b.Queue, b.Job, b.N = "q", "late", n
		c.Batch(&jobs.Batch{Batch: b})
	}
	older := &events.Hold{Code: events.HoldCredit, At: ago(2 * time.Hour)}
	c.Batch(&jobs.Batch{Batch: events.Batch{Queue: "q", Job: "late", N: "5", State: events.BatchUploaded, SinceAt: time.Now(), Hold: older}})
	c.Budget(&jobs.Budget{Budget: events.Budget{Queue: "q", Holds: []events.QueueHold{{Key: "main", Hold: *older}, {Key: "spare", Hold: *hold}}}}, events.QueueHeld, "")
	c.Budget(&jobs.Budget{Budget: events.Budget{Queue: "resumed"}}, events.QueueResumed, "")
	used := func(tokens int64) events.Spending {
		return events.Spending{Spent: events.Amount{Tokens: tokens, Money: events.MoneyUnit / 2}, Reserved: events.Amount{Tokens: 7}}
	}
	c.Budget(&jobs.Budget{Budget: events.Budget{Queue: "limited", Spending: &events.Ledger{
		Total: used(100), Day: time.Now().UTC().Format(time.DateOnly), Today: used(40),
	}}}, events.QueueResumed, "")
	c.Budget(&jobs.Budget{Budget: events.Budget{Queue: "yesterday", Spending: &events.Ledger{Total: used(9), Day: "2026-01-01", Today: used(9)}}}, events.QueueResumed, "")
	ok(t, store.Commit(t.Context(), c))
	for range 3 {
		_, err := f.Store.Publish(t.Context(), &nats.Msg{Subject: "batchbus.requests.q.j", Data: []byte("x")})
		ok(t, err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(obs.NewState(store, f.Store.JetStream()))
	got := values(t, registry)
	expect(t, got, map[string]float64{
		obs.MetricJobs + "{state=open}":                             1,
		obs.MetricJobs + "{state=planned}":                          1,
		obs.MetricJobs + "{state=completed}":                        1,
		obs.MetricBatches + "{state=submitted}":                     2,
		obs.MetricBatches + "{state=settled}":                       1,
		obs.MetricBatches + "{state=creating}":                      0,
		obs.MetricBatchesOverdue:                                    1,
		obs.MetricUnsettledRows:                                     16,
		obs.MetricHolds + "{code=out_of_credit,queue=q,what=job}":   1,
		obs.MetricHolds + "{code=out_of_credit,queue=q,what=batch}": 2,
		obs.MetricHolds + "{code=out_of_credit,queue=q,what=queue}": 2,
		obs.MetricConsumerPending + "{consumer=ingest}":             3,

		obs.MetricQueueTokens + "{queue=limited,what=spent}":         100,
		obs.MetricQueueTokens + "{queue=limited,what=spent_today}":   40,
		obs.MetricQueueTokens + "{queue=limited,what=reserved}":      7,
		obs.MetricQueueMoney + "{queue=limited,what=spent}":          0.5,
		obs.MetricQueueTokens + "{queue=yesterday,what=spent}":       9,
		obs.MetricQueueTokens + "{queue=yesterday,what=spent_today}": 0,
		obs.MetricConsumerAckPending + "{consumer=ingest}":           0,
	})
	for name, bounds := range map[string][2]float64{
		obs.MetricOldestUnsettled:                                          {3600, 3700},
		obs.MetricOldestBatchState + "{state=submitted}":                   {1800, 1900},
		obs.MetricHeldSeconds + "{code=out_of_credit,queue=q,what=job}":    {60, 160},
		obs.MetricHeldSeconds + "{code=out_of_credit,queue=q,what=batch}":  {7200, 7300},
		obs.MetricHeldSeconds + "{code=out_of_credit,queue=q,what=queue}":  {7200, 7300},
		obs.MetricOldestRequest:                                            {0.000001, 60},
		obs.MetricStreamBytes + "{stream=" + jetstore.StreamRequests + "}": {1, 1000},
		obs.MetricStreamLimit + "{stream=" + jetstore.StreamRows + "}":     {1 << 20, 4 << 30},
		obs.MetricStateAge: {0, 60},
	} {
		if value := got[name]; value < bounds[0] || value > bounds[1] {
			t.Errorf("%s is %v, want %v", name, value, bounds)
		}
	}
}

// reader counts how often it is read, and takes its time.
type reader struct {
	reads int
	takes time.Duration
	err   error
}

func (r *reader) Jobs(context.Context) iter.Seq2[jobs.Job, error] {
	return func(yield func(jobs.Job, error) bool) {
		r.reads++
		time.Sleep(r.takes)
		yield(jobs.Job{Job: events.Job{State: events.JobOpen}}, r.err)
	}
}

func (r *reader) AllBatches(context.Context) iter.Seq2[jobs.Batch, error] {
	return func(func(jobs.Batch, error) bool) {}
}

func (r *reader) Budgets(context.Context) iter.Seq2[jobs.Budget, error] {
	return func(func(jobs.Budget, error) bool) {}
}

func TestTheBusIsNotReadAtEveryScrape(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		r := &reader{}
		registry := prometheus.NewRegistry()
		registry.MustRegister(obs.NewState(r, f.Store.JetStream()))
		scrape := func(after time.Duration, reads int) map[string]float64 {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			got := values(t, registry)
			if r.reads != reads {
				t.Errorf("read %d times, want %d", r.reads, reads)
			}
			return got
		}
		scrape(0, 1)
		scrape(14*time.Second, 1)
		r.takes = 3 * time.Second
		scrape(time.Second, 2)
		scrape(29*time.Second, 2) // a look of 3 s is paid for with 30 s of rest
		r.takes, r.err = 0, errors.New("the bus is away")
		got := scrape(time.Second, 3)
		expect(t, got, map[string]float64{obs.MetricJobs + "{state=open}": 1, obs.MetricStateAge: 33})
	})
}

func TestNothingIsShownBeforeAnythingIsKnown(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	registry := prometheus.NewRegistry()
	registry.MustRegister(obs.NewState(&reader{err: errors.New("away")}, f.Store.JetStream()))
	if got := values(t, registry); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
