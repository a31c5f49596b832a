package timewarp_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// Each trouble of docs/provider.md that only hand-made providers showed, by the simulator's own fault, through all services to its end in events.
func TestEachTroubleOfTheProviderEndsInTheRightEventsThroughAllServices(t *testing.T) {
	t.Parallel()
	const rows, always = 10, -1
	for name, c := range map[string]struct {
		config    simulator.Config
		window    string // default 24h
		most      time.Duration
		attention int  // times that a person is asked to look
		waits     bool // the job is not completed in that time
		failing   bool // rows fail by themselves
	}{
		"D16, 9.18: files are emptied": {
			config: simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultEmptyContent, Count: always}}}, most: 3 * time.Hour, attention: 1, waits: true,
		},
		"P61: files are gone": {config: simulator.Config{Faults: []simulator.Fault{
			{Kind: simulator.FaultStatus, Route: "GET /v1/files/{id}/content", Count: always, Status: 410},
			{Kind: simulator.FaultStatus, Route: "GET /v1/batches/{id}/results", Count: always, Status: 410},
		}}, most: 3 * time.Hour, attention: 1, waits: true},
		"D12, 9.16: an operator retries what is settled": {config: simulator.Config{
			RowsPerSecond: 0.001, FailureRate: 0.6, Faults: []simulator.Fault{{Kind: simulator.FaultOperatorRetry, Delay: 10 * time.Minute}},
		}, most: 6 * time.Hour, attention: 1, failing: true},
		"9.17: after is ignored": {config: simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultAfterIgnored, Count: always}}}, most: time.Hour},
		"P66, 9.10: validating for ever": {
			config: simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultFrozenValidating}}}, most: 5 * time.Hour, attention: 1, waits: true,
		},
		"9.10: a cold model":  {config: simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultColdModel}}}, window: "1h", most: 2 * time.Hour},
		"a status unheard of": {config: simulator.Config{Latency: 20 * time.Minute, Faults: []simulator.Fault{{Kind: simulator.FaultUnknownStatus, Count: always}}}, most: 3 * time.Hour},
		"times as text":       {config: simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultISOTimes, Count: always}}}, most: time.Hour},
		"ids with prefixes":   {config: simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultPrefixedIDs, Count: always}}}, most: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorldOf(t, c.config, 1, func(w *world) { w.pollFloor = 3 * time.Minute }, func(w *world) {
				w.publish("named", "row", rows, events.HeaderSeal, "true", events.HeaderWindow, cmp.Or(c.window, "24h"))
				pass(c.most)
				j, ledger := w.job("named"), w.sim.Ledger()
				if told := w.told(events.BatchNeedsAttention, "named"); len(told) != c.attention {
					w.t.Errorf("%d times needs_attention, want %d: %+v", len(told), c.attention, told)
				}
				if len(ledger.Creates) != 1 || len(ledger.Cancels) != 0 {
					w.t.Errorf("%d creates, %d cancels", len(ledger.Creates), len(ledger.Cancels))
				}
				switch {
				case c.waits && (j.State == events.JobCompleted || w.results("named") != 0):
					w.t.Errorf("the job is %s with %d results, and nothing of it can be read", j.State, w.results("named"))
				case !c.waits && (j.State != events.JobCompleted || w.results("named") != rows || !c.failing && j.Totals.Succeeded != rows):
					w.t.Errorf("the job is %s with %d results, totals %+v", j.State, w.results("named"), j.Totals)
				}
			})
		})
	}
}
