package flow_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/examples/workflow/flow"
	"github.com/batchbus/batchbus/examples/workflow/tools"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// callsUntil is a model that calls echo for so many rounds and then answers.
func callsUntil(rounds int) func(string, int) client.Result {
	return func(_ string, round int) client.Result {
		if round < rounds {
			return calls(1, "echo", `{"n":1}`)
		}
		return words("done")
	}
}

func TestARowGoesThroughStagesUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(callsUntil(2))
	threads, err := lead(t, w, flow.DefaultCaps(), row("a", "x"), row("b/é", "y"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"custom_id":"a","status":"answered","why":"","stage":3,"calls":[{"stage":1,"tool":"echo","outcome":"ok"},{"stage":2,"tool":"echo","outcome":"ok"}],"total_tokens":30,"answer":"done"}`
	if got, _, _ := strings.Cut(report(t, threads), "\n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for job, n := range map[string]int{"w": 2, "w-2": 2, "w-3": 2, "w-4": 0} {
		if len(w.rows[job]) != n {
			t.Errorf("job %s has %d rows, not %d", job, len(w.rows[job]), n)
		}
	}
	first, third := string(w.rows["w"][0].Line), string(w.rows["w-3"][0].Line)
	if !strings.Contains(first, `"tools":[{"type":"function","function":{"name":"echo"`) || strings.Count(third, `"role":"assistant"`) != 2 {
		t.Errorf("rows\n%s\n%s", first, third)
	}
	receipt := w.receipt(t, 2, "a")
	if c := receipt.Calls[0]; receipt.Job != "w-2" || c.Tool != "echo" || c.Result != `{"n":1}` || c.ResultBytes != 7 || len(c.ArgumentsSHA256) != 64 {
		t.Errorf("receipt %+v", receipt)
	}
}

func TestWhatIsNoAnswerIsNeverShownAsOne(t *testing.T) {
	t.Parallel()
	half := words("half of an ans")
	half.Truncated = true
	cutCall := calls(1, "echo", `{"n":`)
	cutCall.Truncated = true
	failed := func(outcome events.Outcome) client.Result {
		return client.Result{Result: events.Result{Outcome: outcome, Error: &events.Error{Code: "code", Message: "m\x1b[31m"}}}
	}
	answers := map[string]client.Result{
		"cut": half, "cut-call": cutCall, "failed": failed(events.Failed), "expired": failed(events.Expired), "cancelled": failed(events.Cancelled),
		"rejected": failed(events.Rejected), "filtered": succeeded("content_filter", `{"content":"half of an ans"}`), "good": words("yes"),
	}
	w := newWorld(nil)
	w.model = func(line string, _ int) client.Result { return answers[customID([]byte(line))] }
	w.letters["letter"], w.lost["lost"] = "conflict", true
	ids := map[string]flow.Status{
		"cut": flow.Truncated, "cut-call": flow.Truncated, "failed": flow.Failed, "expired": flow.Expired, "cancelled": flow.Cancelled,
		"rejected": flow.Rejected, "filtered": flow.NoAnswer, "good": flow.Answered, "letter": flow.Missing, "lost": flow.Missing,
	}
	var lines []string
	for id := range ids {
		lines = append(lines, row(id, "x"))
	}
	threads, err := lead(t, w, flow.DefaultCaps(), append(lines, `{"custom_id":"bad","method":"POST"}`, `{`)...)
	if err != nil {
		t.Fatal(err)
	}
	text := report(t, threads)
	if strings.Contains(text, "half") || len(w.receipts) != 1 { // that of the stage
		t.Errorf("%d receipts\n%s", len(w.receipts), text)
	}
	for _, thread := range threads {
		want, ours := ids[thread.ID]
		if !ours {
			want = flow.Rejected
		}
		if thread.Status != want || (thread.Why == "") != (want == flow.Answered) {
			t.Errorf("%s: %s, %q", thread.ID, thread.Status, thread.Why)
		}
	}
	var summary bytes.Buffer
	if flow.WriteSummary(&summary, threads) || strings.ContainsRune(summary.String(), 0x1b) || strings.Count(summary.String(), "no answer: ") != 11 {
		t.Errorf("summary\n%s", summary.String())
	}
}

func TestToolsThatFailAreToldToTheModelAndReceipted(t *testing.T) {
	t.Parallel()
	w := newWorld(nil)
	w.model = func(line string, round int) client.Result {
		if round == 0 {
			return calls(1, customID([]byte(line)), "{}")
		}
		return words("done")
	}
	threads, err := lead(t, w, flow.DefaultCaps(), row("slow", "x"), row("bad", "x"), row("nosuch", "x"))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]tools.Outcome{"slow": tools.TimedOut, "bad": tools.Failed, "nosuch": tools.Unknown} {
		if c := w.receipt(t, 1, id).Calls[0]; c.Outcome != want || !strings.HasPrefix(c.Result, "error: ") {
			t.Errorf("%s: %+v", id, c)
		}
	}
	if ms := w.receipt(t, 1, "slow").Calls[0].Milliseconds; ms < 50 || ms > 10_000 {
		t.Errorf("the slow one took %d ms", ms)
	}
	for _, line := range w.rows["w-2"] {
		if !strings.Contains(string(line.Line), `"role":"tool","tool_call_id":"c0","content":"error: `) {
			t.Errorf("row %s", line.Line)
		}
	}
	if threads[0].Status != flow.Answered {
		t.Errorf("status %s", threads[0].Status)
	}
}

func TestAReceiptStandsWhateverComesLater(t *testing.T) {
	t.Parallel()
	w, rows := newWorld(callsUntil(2)), []string{row("a", "x"), row("b", "y")}
	first, err := lead(t, w, flow.DefaultCaps(), rows...)
	if err != nil {
		t.Fatal(err)
	}
	published, receipts := maps.Clone(w.rows), maps.Clone(w.receipts)
	caps := flow.DefaultCaps()
	caps.Stages, caps.Calls = 1, 1
	again, err := lead(t, w, caps, rows...)
	if err != nil || report(t, again) != report(t, first) {
		t.Errorf("under other caps it ended otherwise: %v\n%s", err, report(t, again))
	}
	for job, rows := range w.rows {
		if len(rows) != len(published[job]) {
			t.Errorf("job %s was published again", job)
		}
	}
	if len(w.receipts) != len(receipts) {
		t.Errorf("%d receipts became %d", len(receipts), len(w.receipts))
	}
	if _, err := lead(t, w, flow.DefaultCaps(), row("a", "another")); !errors.Is(err, flow.ErrReceipt) {
		t.Errorf("other rows under the same name: %v", err)
	}
	delete(w.receipts, "default.w.stage.1")
	if _, err := lead(t, w, flow.DefaultCaps(), row("a", "another")); !errors.As(err, new(*events.APIError)) {
		t.Errorf("and without the receipt: %v", err)
	}
}

func TestAStageThatIsSealedIsNotPublishedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(callsUntil(0))
	if _, err := lead(t, w, flow.DefaultCaps(), row("a", "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := lead(t, w, flow.DefaultCaps(), row("a", "another")); !errors.Is(err, flow.ErrReceipt) {
		t.Errorf("other rows were taken for those of the stage's receipt: %v", err)
	}
	delete(w.receipts, "default.w.stage.1") // as if it was killed between the seal and the receipt
	if threads, err := lead(t, w, flow.DefaultCaps(), row("a", "x")); err != nil || threads[0].Status != flow.Answered {
		t.Errorf("it did not go on: %v", err)
	}
	if n := len(w.rows["w"]); n != 1 {
		t.Errorf("%d rows were published", n)
	}
}

func TestAReceiptThatWasTamperedWithEndsTheWorkflow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*flow.RowReceipt){
		"another result": func(r *flow.RowReceipt) { r.Calls[0].Result = "7" },
		"a call less":    func(r *flow.RowReceipt) { r.Calls = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(callsUntil(1))
			if _, err := lead(t, w, flow.DefaultCaps(), row("a", "x")); err != nil {
				t.Fatal(err)
			}
			receipt := w.receipt(t, 1, "a")
			change(&receipt)
			value, err := json.Marshal(receipt)
			if err != nil {
				t.Fatal(err)
			}
			w.receipts["default.w.row.1.a"] = value
			delete(w.receipts, "default.w.stage.2") // as if it was killed before
			delete(w.jobs, "w-2")
			threads, err := lead(t, w, flow.DefaultCaps(), row("a", "x"))
			if !errors.Is(err, flow.ErrReceipt) || !strings.Contains(report(t, threads), `"status":"unfinished"`) {
				t.Errorf("got %v\n%s", err, report(t, threads))
			}
		})
	}
	w := newWorld(callsUntil(1))
	w.receipts["default.w.row.1.a"] = []byte("{")
	if _, err := lead(t, w, flow.DefaultCaps(), row("a", "x")); !errors.Is(err, flow.ErrReceipt) {
		t.Errorf("a receipt that is none: %v", err)
	}
}
