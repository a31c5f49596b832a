package collector_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// simulate runs the world's rows at a simulator with these faults until their batch is settled, at the simulator's prices.
func (w *world) simulate(faults ...simulator.Fault) {
	w.t.Helper()
	client, remote, sim := w.simulated(simulator.Config{Seed: 11, Dir: w.t.TempDir(), RowsPerSecond: 20, Faults: faults})
	defer func() { w.ok(sim.Close()) }()
	stop := w.run(w.service(func(c *collector.Config) {
		c.Provider, c.Prices = func(string) (collector.Provider, bool) { return client, true }, prices.Simulated()
	}))
	defer stop()
	w.poll(client, remote.ID)
}

func TestEachFaultOfTheSimulatorEndsInTheRightResults(t *testing.T) {
	t.Parallel()
	const all = -1
	some := []string{"row-00003", "row-00017"}
	for name, c := range map[string]struct {
		fault simulator.Fault
		want  map[string]int
	}{
		"D2, late rows behind the cursor":           {simulator.Fault{Kind: simulator.FaultLateRow, CustomIDs: some, Delay: time.Minute}, map[string]int{"succeeded": 40}},
		"D3, offset is honoured beside skip":        {simulator.Fault{Kind: simulator.FaultOffsetHonoured, Count: all}, map[string]int{"succeeded": 40}},
		"D4, the header promises too much":          {simulator.Fault{Kind: simulator.FaultLastLineOverstated, Count: all, Rows: 7}, map[string]int{"succeeded": 40}},
		"9.4, incomplete for ever":                  {simulator.Fault{Kind: simulator.FaultIncompleteForever, Count: all}, map[string]int{"succeeded": 40}},
		"9.4, complete too early":                   {simulator.Fault{Kind: simulator.FaultCompleteEarly, Count: all}, map[string]int{"succeeded": 40}},
		"9.5, 404 on files for a while":             {simulator.Fault{Kind: simulator.FaultNotFound, Route: "GET /v1/files/{id}/content", Count: 3}, map[string]int{"succeeded": 40}},
		"P25, lines that come twice":                {simulator.Fault{Kind: simulator.FaultDuplicateRow, CustomIDs: some}, map[string]int{"succeeded": 40}},
		"D1, rows that only the merged view shows":  {simulator.Fault{Kind: simulator.FaultMissingRow, CustomIDs: some}, map[string]int{"succeeded": 40}},
		"9.14, string bodies":                       {simulator.Fault{Kind: simulator.FaultStringBody, CustomIDs: some}, map[string]int{"succeeded": 40}},
		"9.14, null bodies":                         {simulator.Fault{Kind: simulator.FaultNullBody, CustomIDs: some}, map[string]int{"succeeded": 38, "failed malformed_result": 2}},
		"P74, answers cut for length":               {simulator.Fault{Kind: simulator.FaultTruncated, CustomIDs: some}, map[string]int{"succeeded": 40}},
		"9.14, streams that broke off":              {simulator.Fault{Kind: simulator.FaultTruncated, CustomIDs: some, Text: "null"}, map[string]int{"succeeded": 40}},
		"9.14, another model":                       {simulator.Fault{Kind: simulator.FaultModelSubstituted, CustomIDs: some}, map[string]int{"succeeded": 40}},
		"9.15, credit runs out in mid-run":          {simulator.Fault{Kind: simulator.FaultCreditOut, Status: 402, Rows: 10}, map[string]int{"succeeded": 10, "failed out_of_credit": 30}},
		"9.15, access is lost in mid-run":           {simulator.Fault{Kind: simulator.FaultCreditOut, Status: 403, Rows: 10}, map[string]int{"succeeded": 10, "failed access_lost": 30}},
		"D6, every row fails":                       {simulator.Fault{Kind: simulator.FaultCreditOut, Status: 402}, map[string]int{"failed out_of_credit": 40}},
		"the bill comes half a minute later":        {simulator.Fault{Kind: simulator.FaultAnalyticsLag, Delay: 30 * time.Second}, map[string]int{"succeeded": 40}},
		"the bill never becomes whole":              {simulator.Fault{Kind: simulator.FaultAnalyticsLag, Delay: 24 * time.Hour}, map[string]int{"succeeded": 40}},
		"9.3, a body that breaks off as if it were": {simulator.Fault{Kind: simulator.FaultShortBody, Route: "GET /v1/files/{id}/content", Count: 5, Bytes: 2000, Clean: true}, map[string]int{"succeeded": 40}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(40), func(w *world) {
				w.simulate(c.fault)
				w.want("outcomes", w.outcomes(), c.want)
				w.conserved()
			})
		})
	}
}

func TestAllFaultsOfReadingAtOnceLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, named(200), func(w *world) {
		const few = 0.1
		w.simulate(
			simulator.Fault{Kind: simulator.FaultLateRow, Share: few, Delay: time.Minute}, simulator.Fault{Kind: simulator.FaultDuplicateRow, Share: few},
			simulator.Fault{Kind: simulator.FaultStringBody, Share: few}, simulator.Fault{Kind: simulator.FaultNullBody, Share: few},
			simulator.Fault{Kind: simulator.FaultTruncated, Share: few}, simulator.Fault{Kind: simulator.FaultNestedError, Share: few, Text: "<html>no</html>"},
			simulator.Fault{Kind: simulator.FaultMissingRow, Share: few}, simulator.Fault{Kind: simulator.FaultOffsetHonoured, Count: -1, Share: 0.5},
			simulator.Fault{Kind: simulator.FaultLastLineOverstated, Count: -1, Share: 0.5, Rows: 3},
			simulator.Fault{Kind: simulator.FaultIncompleteForever, Count: -1},
			simulator.Fault{Kind: simulator.FaultShortBody, Route: "GET /v1/files/{id}/content", Count: -1, Share: 0.3, Bytes: 3000, Clean: true},
		)
		w.conserved()
		n := w.outcomes()
		if n["succeeded"] < 120 || n["failed malformed_result"] == 0 || n["failed missing_result"] > 0 {
			t.Errorf("outcomes %v", n)
		}
	})
}

func TestRowsWithoutCreditGoOnWhenAPersonResumesTheirFollowUp(t *testing.T) { // contract 9.15
	t.Parallel()
	inWorld(t, named(40), func(w *world) {
		w.retries(2, events.RetryFailed)
		w.simulate(simulator.Fault{Kind: simulator.FaultCreditOut, Status: 402, Rows: 10})
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 10})
		held := w.batchOf("1-1")
		w.want("follow-up", []any{held.State, held.Rows, held.Hold.Code}, []any{"planned", 30, events.HoldCredit})
		b, err := w.jobs.EndHold(w.ctx(), queue, job, "1-1", events.Wish{Kind: events.WishResume})
		w.ok(err)
		w.want("after the resume", []any{b.State, b.Hold}, []any{"planned", (*events.Hold)(nil)})
	})
}
