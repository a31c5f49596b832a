package deploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// publish publishes rows and the seal as our own tools do.
func (d *deployment) publish(job string, rows io.Reader) {
	d.t.Helper()
	if err := d.tryPublish(within(d.t), job, rows); err != nil {
		d.t.Fatal(err)
	}
}

// tryPublish is for other goroutines than the test's.
func (d *deployment) tryPublish(ctx context.Context, job string, rows io.Reader) error {
	n, err := d.client.Publish(ctx, client.Input{Queue: queue, Job: job, Rows: rows, Digest: "input"})
	if err != nil {
		return err
	}
	return d.client.Seal(ctx, queue, job, n)
}

// stands tells whether a message stands below the subject now.
func (d *deployment) stands(stream, subject string) bool {
	ctx, cancel := context.WithTimeout(d.t.Context(), 2*time.Second)
	defer cancel()
	bound, err := d.js.Stream(ctx, stream)
	if err != nil {
		return false
	}
	_, err = bound.GetLastMsgForSubject(ctx, subject)
	return err == nil
}

// count is how many messages a stream holds; 0 while nobody can say.
func (d *deployment) count(stream string) uint64 {
	ctx, cancel := context.WithTimeout(d.t.Context(), 2*time.Second)
	defer cancel()
	bound, err := d.js.Stream(ctx, stream)
	if err != nil {
		return 0
	}
	return bound.CachedInfo().State.Msgs
}

// await waits for the first event of the kind.
func (d *deployment) await(kind events.Kind, job string) {
	d.t.Helper()
	subject := events.EventSubject(kind, queue, job, ">")
	eventually(d.t, string(kind)+" of "+job, func() bool { return d.stands(jetstore.StreamEvents, subject) })
}

// results are a job's results by custom_id. Two for one row, or two messages on one subject, fail the test.
func (d *deployment) results(job string) map[string]client.Result {
	d.t.Helper()
	results := map[string]client.Result{}
	for r, err := range d.client.Results(within(d.t), queue, job, 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		if _, twice := results[r.CustomID]; twice {
			d.t.Errorf("row %q of %s has two results", r.CustomID, job)
		}
		results[r.CustomID] = r
	}
	return results
}

func (d *deployment) deadLetters(job string) []client.DeadLetter {
	d.t.Helper()
	var letters []client.DeadLetter
	for l, err := range d.client.DeadLetters(within(d.t), queue, job, 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		letters = append(letters, l)
	}
	return letters
}

// wantAllSucceeded checks that a job has one result for each of n rows called row-000000 and so on, and no dead letter.
func (d *deployment) wantAllSucceeded(job string, n int) {
	d.t.Helper()
	results := d.results(job)
	for i := range n {
		if r, ok := results[rowID(i)]; !ok || r.Outcome != events.Succeeded || len(r.Response) == 0 {
			d.t.Fatalf("row %s of %s has %q", rowID(i), job, r.Raw)
		}
	}
	if letters := d.deadLetters(job); len(results) != n || len(letters) > 0 {
		d.t.Errorf("%s has %d results and %d dead letters, want %d and none", job, len(results), len(letters), n)
	}
}

// wantPaid checks what was paid, by the provider's word: so many batches, every row in them once, none cancelled.
func (d *deployment) wantPaid(batches, rows int) {
	d.t.Helper()
	l := d.ledger()
	inBatches := 0
	for _, c := range l.Creates {
		inBatches += c.Rows
	}
	if len(l.Creates) != batches || inBatches != rows || l.RowsRun != rows || len(l.Cancels) > 0 {
		d.t.Errorf("the ledger has %d creates of %d rows, %d rows run, %d cancels; want %d, %d, %d, 0",
			len(l.Creates), inBatches, l.RowsRun, len(l.Cancels), batches, rows, rows)
	}
}

func (d *deployment) ledger() simulator.Ledger {
	d.t.Helper()
	request, err := http.NewRequestWithContext(within(d.t), http.MethodGet, d.provider+"/_simulator/ledger", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	reply, err := d.http.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer reply.Body.Close()
	var l simulator.Ledger
	if err := json.NewDecoder(reply.Body).Decode(&l); err != nil {
		d.t.Fatal(err)
	}
	return l
}

func rowID(i int) string { return fmt.Sprintf("row-%06d", i) }

// chat is a row as a user writes it.
func chat(id, model, content string) string {
	return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":"/v1/chat/completions",`+
		`"body":{"model":%q,"messages":[{"role":"user","content":%q}],"max_tokens":32}}`+"\n", id, model, content)
}

// numbered are n rows, their models in turn.
func numbered(n, models int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(chat(rowID(i), fmt.Sprintf("model-%d", i%models), fmt.Sprintf("question %d", i)))
	}
	return text.String()
}
