package collector_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// priced is a collector that knows a price: an answer of [world.answers], 1 token in and 10 out, costs 0.00000152.
func (w *world) priced(edit func(*collector.Config)) *collector.Service {
	w.t.Helper()
	table, err := prices.Parse([]byte(`[{"model":"m","window":"","input_per_million":"0.02","output_per_million":"0.15","currency":"USD"}]`))
	w.ok(err)
	return w.service(func(c *collector.Config) {
		c.Prices = table
		if edit != nil {
			edit(c)
		}
	})
}

func TestEachAnswerHasItsCostAndTheTotalTheirSum(t *testing.T) { // P43
	t.Parallel()
	inWorld(t, named(4), func(w *world) {
		w.answers(0, 1)
		w.out.lines = append(w.out.lines, okLine(w.wire(2), `{"no":"usage"}`))
		w.errs.lines = []string{failLine(w.wire(3))}
		w.finish("completed", 3, 1)
		w.untilSettled(w.priced(nil))
		results := w.results()
		w.want("cost", *results["row-00000"].Cost, events.Cost{Amount: "0.00000152", Currency: "USD", Basis: "price_table"})
		w.want("cost without usage", results["row-00002"].Cost, (*events.Cost)(nil))
		w.want("cost of a failure", results["row-00003"].Cost, (*events.Cost)(nil))
		w.want("total", []any{w.job().Totals.Cost, w.job().Totals.Currency}, []any{"0.00000304", "USD"})
	})
}

func TestWithoutAPriceNothingHasACost(t *testing.T) {
	t.Parallel()
	inWorld(t, named(1), func(w *world) {
		w.answers(0)
		w.finish("completed", 1, 0)
		w.untilSettled(w.service(nil))
		w.want("cost", w.results()["row-00000"].Cost, (*events.Cost)(nil))
		w.want("totals", []any{w.job().Totals.Cost, w.job().Totals.Currency}, []any{"0", ""})
	})
}

func TestTheSameOutputReadFiveTimesCostsOnce(t *testing.T) { // P40, P25
	t.Parallel()
	inWorld(t, named(5), func(w *world) {
		w.out.ignoreSkip = true
		w.answers(0, 1, 2, 3, 4)
		w.out.lines = append(w.out.lines, w.out.lines...)
		for range 5 {
			w.collect(w.priced(nil))
		}
		w.want("cost", w.cursor().Totals.Cost, "0.0000076")
	})
}

func TestTwoCollectorsChargeEachRowOnce(t *testing.T) { // P45
	t.Parallel()
	inWorld(t, named(1000), func(w *world) {
		w.answers(rand.New(rand.NewPCG(7, 8)).Perm(1000)...)
		w.finish("completed", 1000, 0)
		var group sync.WaitGroup
		for range 2 {
			s := w.priced(func(c *collector.Config) { c.CommitRows = 100 })
			group.Go(func() { w.untilSettled(s) })
		}
		group.Wait()
		w.want("cost", w.batch().Totals.Cost, "0.00152")
	})
}

func TestACancelledBatchCostsWhatRan(t *testing.T) { // P42, P21, P29, D14
	t.Parallel()
	inWorld(t, named(100), func(w *world) {
		w.editJob(func(j *events.Job) { j.CancelWanted = new(time.Now()) })
		for place := range 40 {
			w.answers(place)
		}
		w.finish("cancelled", 40, 0)
		s := w.priced(nil)
		w.want("wait", w.collect(s), time.Hour)
		w.answers(40) // late: it finished after the cancel, and was billed
		w.p.change(func() { w.p.batch.Counts.Completed = 41 })
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 41, "cancelled job_cancelled": 59})
		w.want("late, costed", []any{w.results()["row-00040"].Late, w.results()["row-00040"].Cost.Amount}, []any{true, "0.00000152"})
		w.want("cost", w.job().Totals.Cost, "0.00006232")
	})
}

func TestTheBillOfABatchIsInItsSettlement(t *testing.T) {
	t.Parallel()
	away := &doubleword.Error{Status: 503, Class: doubleword.Retryable}
	said := func(requests int64, cost string) bill {
		return bill{Analytics: doubleword.Analytics{Requests: requests, Cost: cost}}
	}
	for name, c := range map[string]struct {
		bills  []bill
		wait   time.Duration
		billed string // empty: nobody said
		asked  int
		why    string // of the settled batch
	}{
		"it is there":                            {bills: []bill{said(2, "0.0123456789012345")}, billed: "0.012345678901", asked: 1},
		"zeros first":                            {bills: []bill{said(0, "0"), said(0, "0"), said(2, "0.5")}, wait: 30 * time.Second, billed: "0.5", asked: 3},
		"zeros for ever":                         {bills: []bill{said(0, "0")}, wait: time.Minute, asked: 5},
		"it never becomes whole":                 {bills: []bill{said(1, "0.25")}, wait: time.Minute, billed: "0.25", asked: 5},
		"no such route":                          {asked: 1},
		"away, then there":                       {bills: []bill{{err: away}, said(2, "1")}, wait: 15 * time.Second, billed: "1", asked: 2},
		"away for ever":                          {bills: []bill{{err: away}}, wait: time.Minute, asked: 5},
		"a bill without an amount":               {bills: []bill{said(2, "")}, asked: 1},
		"a bill whose amount is none":            {bills: []bill{said(2, "lots")}, asked: 1, why: `bill_unusable): "lots"`},
		"a negative bill":                        {bills: []bill{said(2, "-12.5")}, asked: 1, why: "negative: -12.5"},
		"a bill of four hundred digits":          {bills: []bill{said(2, strings.Repeat("9", 400))}, asked: 1, why: "bill_unusable"},
		"a bill beyond every number":             {bills: []bill{said(2, "1e999999999")}, asked: 1, why: "bill_unusable"},
		"a bill over fewer rows than none":       {bills: []bill{said(-1, "1")}, wait: time.Minute, asked: 5, why: "over -1 rows"},
		"a bill in another currency":             {bills: []bill{{Analytics: doubleword.Analytics{Requests: 2, Cost: "7", Currency: "DOGE"}}}, asked: 1, why: "DOGE"},
		"a bill in the prices' currency":         {bills: []bill{{Analytics: doubleword.Analytics{Requests: 2, Cost: "7", Currency: "usd"}}}, billed: "7", asked: 1},
		"a bill that is no JSON":                 {bills: []bill{{err: doubleword.ErrBadAnswer}}, wait: time.Minute, asked: 5, why: "JSON"},
		"nothing was billed, and that is a bill": {bills: []bill{said(2, "0")}, billed: "0", asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(2), func(w *world) {
				w.p.bills = c.bills
				w.answers(0, 1)
				w.finish("completed", 2, 0)
				w.want("time to settle", w.untilSettled(w.service(nil)), c.wait)
				w.want("asked", w.p.asked, c.asked)
				b, j := w.batch(), w.job()
				if c.why == "" && b.Why != "" || !strings.Contains(b.Why, c.why) {
					t.Errorf("why %q, want %q", b.Why, c.why)
				}
				if c.billed == "" {
					w.want("billed", b.Billed, (*events.Money)(nil))
					w.want("job billed", j.Totals.Billed, "0")
					return
				}
				w.want("billed", *b.Billed, c.billed)
				w.want("job billed", j.Totals.Billed, c.billed)
			})
		})
	}
}

func TestABatchOfWhichNothingRanHasNoBill(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.errs.lines = []string{failLine(w.wire(0)), failLine(w.wire(1))}
		w.finish("failed", 0, 2)
		w.want("time to settle", w.untilSettled(w.service(nil)), time.Duration(0))
		w.want("asked", w.p.asked, 0)
	})
}

func TestBillsOfABatchAndItsFollowUpAddUp(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.retries(2, events.RetryMissingResult)
		w.p.bills = []bill{{Analytics: doubleword.Analytics{Requests: 2, Cost: "0.5"}}, {Analytics: doubleword.Analytics{Requests: 1, Cost: "0.25"}}}
		w.answers(0)
		w.finish("completed", 2, 0)
		w.untilSettled(w.priced(nil))
		w.runChild("1-1", "completed", []string{okLine("0~row-00001", answerBody("x", 10))}, nil)
		w.want("billed", w.job().Totals.Billed, "0.75")
	})
}

func TestTheSimulatorsBillIsTheSumOfTheCostsByItsPrice(t *testing.T) {
	t.Parallel()
	inWorld(t, named(50), func(w *world) {
		client, remote, sim := w.simulated(simulator.Config{Seed: 5, Dir: t.TempDir(), RowsPerSecond: 10, FailureRate: 0.1})
		defer func() { w.ok(sim.Close()) }()
		stop := w.run(w.service(func(c *collector.Config) {
			c.Provider, c.Prices = func(string) (collector.Provider, bool) { return client, true }, prices.Simulated()
		}))
		defer stop()
		w.poll(client, remote.ID)
		b := w.batch()
		if b.Billed == nil || *b.Billed != b.Totals.Cost || *b.Billed == 0 {
			t.Errorf("billed %v, cost %v", b.Billed, b.Totals.Cost)
		}
	})
}
