package chaos_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/test/rig"
)

// sound is what a run of one job of two rows and a duplicate leaves behind when all is well.
func sound() (*rig.Left, expectation) {
	l := &rig.Left{
		Results: []rig.Ending{
			{Subject: "batchbus.results.default.j.a", Job: "j", CustomID: "a", Word: "succeeded"},
			{Subject: "batchbus.results.default.j.b", Job: "j", CustomID: "b", Word: "failed"},
		},
		DeadLetters: []rig.Ending{{Subject: "batchbus.deadletters.default.j.0", Job: "j", CustomID: "a", Word: "duplicate"}},
		Jobs:        []events.Job{{Job: "j", State: events.JobCompleted, Rows: 2, Totals: &events.Totals{Rows: 2, Succeeded: 1, Failed: 1}}},
		Batches:     []events.Batch{{Job: "j", N: "1", State: events.BatchSettled, Rows: 2, ProviderBatchID: "p"}},
		Ledger: simulator.Ledger{Creates: []simulator.Create{
			{BatchID: "p", Metadata: map[string]string{pathKey: "bus/default/j/1/"}, Rows: 2, RowsRun: 2},
			{BatchID: "z", Metadata: map[string]string{pathKey: "bus/default/j/1/"}, Rows: 2, RowsRun: 1, Cancelled: true},
		}},
		Waiting: map[string]uint64{},
	}
	return l, expectation{dues: []due{{
		job: "j", published: 3, outcomes: map[string]int{"succeeded": 1, "failed": 1}, letters: map[string]int{"duplicate": 1},
	}}}
}

func TestASoundRunBreaksNothing(t *testing.T) {
	t.Parallel()
	l, want := sound()
	if broken := judge(l, want); len(broken) > 0 {
		t.Errorf("%v", broken)
	}
	if n := zombieRows(l); n != 1 {
		t.Errorf("%d rows of zombies, want 1", n)
	}
}

func TestEachInvariantSeesWhatBreaksIt(t *testing.T) {
	t.Parallel()
	broken := map[string]struct {
		by   func(l *rig.Left, want *expectation)
		want []string
	}{
		"a row without an end":       {func(l *rig.Left, _ *expectation) { l.Results = l.Results[:1] }, []string{conservation, totals}},
		"a row more than published":  {func(_ *rig.Left, w *expectation) { w.dues[0].published-- }, []string{conservation}},
		"another outcome":            {func(l *rig.Left, _ *expectation) { l.Results[0].Word = "expired" }, []string{conservation, totals}},
		"another dead letter":        {func(l *rig.Left, _ *expectation) { l.DeadLetters[0].Word = "conflict" }, []string{conservation}},
		"two results on a subject":   {func(l *rig.Left, _ *expectation) { l.Results[1].Subject = l.Results[0].Subject }, []string{oneResult}},
		"two results of a custom_id": {func(l *rig.Left, _ *expectation) { l.Results[1].CustomID = "a" }, []string{oneResult}},
		"two live batches":           {func(l *rig.Left, _ *expectation) { l.Ledger.Creates[1].Cancelled = false }, []string{paidOnce}},
		"a live batch beside an abandoned one": {func(l *rig.Left, _ *expectation) {
			l.Ledger.Creates[1].Cancelled, l.Batches[0].Abandoned = false, []string{"z"}
		}, nil},
		"a live batch without a state": {func(l *rig.Left, _ *expectation) { l.Batches[0].ProviderBatchID = "q" }, []string{paidOnce}},
		"a row that ran twice":         {func(l *rig.Left, _ *expectation) { l.Ledger.Creates[0].RowsRun = 3 }, []string{rowsRun}},
		"a row that was sent twice":    {func(l *rig.Left, _ *expectation) { l.Ledger.Creates[0].Rows = 3 }, []string{rowsRun}},
		"totals that are not true":     {func(l *rig.Left, _ *expectation) { l.Jobs[0].Totals.Failed = 0 }, []string{totals}},
		"rows that are not counted":    {func(l *rig.Left, _ *expectation) { l.Jobs[0].Rows = 1 }, []string{totals}},
		"a job that is not completed":  {func(l *rig.Left, _ *expectation) { l.Jobs[0].State = events.JobPlanned }, []string{totals}},
		"a batch that has not ended":   {func(l *rig.Left, _ *expectation) { l.Batches[0].State = events.BatchFinished }, []string{quiet}},
		"a batch that is held":         {func(l *rig.Left, _ *expectation) { l.Batches[0].Hold = &events.Hold{} }, []string{quiet}},
		"a job that is held":           {func(l *rig.Left, _ *expectation) { l.Jobs[0].Hold = &events.Hold{} }, []string{quiet}},
		"a request that is left":       {func(l *rig.Left, _ *expectation) { l.Waiting["requests"] = 1 }, []string{quiet}},
		"an alarm": {func(l *rig.Left, _ *expectation) {
			l.Events = []events.Event{{Kind: events.BatchTwin}, {Kind: events.BatchProgress}}
		}, []string{quiet}},
	}
	for name, c := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, want := sound()
			c.by(l, &want)
			seen := map[string]bool{}
			for _, v := range judge(l, want) {
				seen[v.invariant] = true
			}
			if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, c.want) {
				t.Errorf("broken: %v, want %v", got, c.want)
			}
		})
	}
}
