package timewarp_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/audit"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// publishModels publishes n rows of a job, turn by turn for two models.
func (w *world) publishModels(job string, n int, headers ...string) {
	w.t.Helper()
	var rows strings.Builder
	for i := range n {
		fmt.Fprintf(&rows, `{"custom_id":"%s-%d","method":"POST","url":"/v1/chat/completions","body":{"model":"m-%d","messages":[{"role":"user","content":"%d"}]}}`+"\n", job, i, i%2, i)
	}
	m := nats.NewMsg(events.RequestSubject(queue, job))
	m.Data = []byte(rows.String())
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	if _, err := w.Store.Publish(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
}

// judge looks at the streams and at the provider's ledger when the day is over.
func (d *day) judge() {
	d.t.Helper()
	for name, rows := range d.rows {
		d.judgeJob(name, rows)
	}
	if letters := d.count(jetstore.StreamDeadletters, "batchbus.deadletters.>"); letters != 0 {
		d.t.Errorf("%d dead letters, want none", letters)
	}
	if d.refused > 0 && d.resumed == 0 {
		d.t.Errorf("nobody had to resume anything after %d creates without credit", d.refused)
	}
	d.judgeLedger(d.sim.Ledger())
	d.judgeBills()
}

func (d *day) judgeJob(name string, rows int) {
	d.t.Helper()
	j := d.job(name)
	if j.State != events.JobCompleted {
		d.t.Errorf("%s is %s after all the time", name, j.State)
		d.tellBatches(name)
		return
	}
	got := d.readResults(name)
	if len(got) != rows || j.Totals.Rows != rows {
		d.t.Errorf("%s has %d results and %d rows in its totals, want %d", name, len(got), j.Totals.Rows, rows)
	}
	if cost := costOf(d, got); cost != j.Totals.Cost {
		d.t.Errorf("%s cost %s by its results and %s by its totals", name, cost, j.Totals.Cost)
	}
	report, err := audit.Job(d.t.Context(), audit.Config{Bus: d.Store, Jobs: d.jobs}, queue, name)
	if err != nil || report.Verdict != audit.Proven {
		d.t.Errorf("audit of %s: %+v, %v", name, report, err)
	}
}

// readResults are the results of a job by custom_id, each the only one.
func (d *day) readResults(name string) map[string]events.Result {
	d.t.Helper()
	all := make(map[string]events.Result)
	for m, err := range d.Store.Read(d.t.Context(), jetstore.StreamResults, events.ResultsFilter(queue, name), 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		r, err := events.ParseResult(m.Data)
		if err != nil {
			d.t.Fatal(err)
		}
		if _, twice := all[r.CustomID]; twice || !strings.HasPrefix(r.CustomID, name+"-") {
			d.t.Errorf("%s has a second result, or one of another job: %s", name, r.CustomID)
		}
		all[r.CustomID] = r
	}
	return all
}

// dayPrices are what the two models of the day cost, each with digits of its own: a cost by the other's price, or rounded, shows.
func dayPrices() map[string]simulator.Price {
	return map[string]simulator.Price{"m-0": {Input: 50_000, Output: 200_000}, "m-1": {Input: 70_001, Output: 300_007}}
}

// dayTable is the same as the services are told it.
func dayTable(t *testing.T) *prices.Table {
	t.Helper()
	table, err := prices.Parse([]byte(`[{"model":"m-0","input_per_million":"0.05","output_per_million":"0.20","currency":"USD"},
		{"model":"m-1","input_per_million":"0.070001","output_per_million":"0.300007","currency":"USD"}]`))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// modelOf is the model of a row, as publishModels chooses it.
func modelOf(d *day, id string) string {
	d.t.Helper()
	n, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	if err != nil {
		d.t.Fatal(err)
	}
	return fmt.Sprintf("m-%d", n%2)
}

// costOf is what results cost by the prices of their models; what each of them says must be its part.
func costOf(d *day, results map[string]events.Result) (sum events.Money) {
	d.t.Helper()
	for id, r := range results {
		if r.Usage == nil {
			continue
		}
		p := dayPrices()[modelOf(d, id)]
		cost := events.Money(p.Input).Times(r.Usage.PromptTokens).Plus(events.Money(p.Output).Times(r.Usage.CompletionTokens))
		if r.Cost == nil || r.Cost.Amount != cost.String() {
			d.t.Errorf("%s cost %+v, want %s", id, r.Cost, cost)
		}
		sum = sum.Plus(cost)
	}
	return sum
}

// judgeBills compares what the batches say they were billed with what the provider says when all is over. It may be less where its analytics
// were late, or where somebody had rows run again afterwards: and nowhere more.
func (d *day) judgeBills() {
	d.t.Helper()
	d.set(nil)
	client, err := doubleword.New(doubleword.Config{BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("judge"), Transport: d.way})
	if err != nil {
		d.t.Fatal(err)
	}
	less := 0
	for b, err := range d.jobs.AllBatches(d.t.Context()) {
		if err != nil {
			d.t.Fatal(err)
		}
		if b.ProviderBatchID == "" || b.Billed == nil {
			continue
		}
		said, err := client.Analytics(d.t.Context(), b.ProviderBatchID)
		amount, wrong := events.ParseMoney(said.Cost)
		if err != nil || wrong != nil || *b.Billed > amount {
			d.t.Errorf("%s says it was billed %s, the provider %q: %v", b.StateKey(), b.Billed, said.Cost, err)
		}
		if *b.Billed < amount {
			less++
		}
	}
	if most := lateBills + retriedBatches; less > most {
		d.t.Errorf("%d batches say less than they were billed, want %d at most", less, most)
	}
}

// tellBatches says what the batches of a job that is not done wait for.
func (d *day) tellBatches(name string) {
	for b, err := range d.jobs.Batches(d.t.Context(), queue, name) {
		if err == nil && !b.State.Ended() {
			d.t.Logf("%s is %s: %s; %s; hold %+v", b.StateKey(), b.State, b.Why, b.LastError, b.Hold)
		}
	}
}

// judgeLedger looks for a planned batch that the provider ran twice.
func (d *day) judgeLedger(ledger simulator.Ledger) {
	d.t.Helper()
	ran := make(map[string]int)
	for _, c := range ledger.Creates {
		if c.RowsRun == 0 {
			continue
		}
		path := c.Metadata["batchbus"]
		if ran[path]++; path == "" || ran[path] > 1 {
			d.t.Errorf("%d batches of %q ran rows", ran[path], path)
		}
	}
	if len(ran) < dayBatches {
		d.t.Errorf("%d batches ran, want %d or more", len(ran), dayBatches)
	}
	d.t.Logf("%d batches, %d rows run, %d creates, %d cancels, %d holds ended by a person",
		len(ran), ledger.RowsRun, len(ledger.Creates), len(ledger.Cancels), d.resumed)
}
