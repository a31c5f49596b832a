//go:build unix

package rig

import (
	"context"
	"io"
	"time"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Publish publishes rows and the seal as our own tools do.
func (d *Deployment) Publish(job string, rows io.Reader) {
	d.t.Helper()
	if err := d.TryPublish(Patiently(d.t), job, rows); err != nil {
		d.t.Fatal(err)
	}
}

// TryPublish is Publish for other goroutines than the test's. It is safe for concurrent use.
func (d *Deployment) TryPublish(ctx context.Context, job string, rows io.Reader) error {
	n, err := d.Client.Publish(ctx, client.Input{Queue: Queue, Job: job, Rows: rows, Digest: "input"})
	if err != nil {
		return err
	}
	return d.Client.Seal(ctx, Queue, job, n)
}

// lookTimeout bounds one look at a stream, of which there will be another.
const lookTimeout = 2 * time.Second

// Stands tells whether a message stands below the subject now.
func (d *Deployment) Stands(stream, subject string) bool {
	ctx, cancel := context.WithTimeout(d.t.Context(), lookTimeout)
	defer cancel()
	bound, err := d.JS.Stream(ctx, stream)
	if err != nil {
		return false
	}
	_, err = bound.GetLastMsgForSubject(ctx, subject)
	return err == nil
}

// Count is how many messages a stream holds; 0 while nobody can say.
func (d *Deployment) Count(stream string) uint64 {
	ctx, cancel := context.WithTimeout(d.t.Context(), lookTimeout)
	defer cancel()
	bound, err := d.JS.Stream(ctx, stream)
	if err != nil {
		return 0
	}
	return bound.CachedInfo().State.Msgs
}

// Happened tells whether an event of the kind stands for the job now.
func (d *Deployment) Happened(kind events.Kind, job string) bool {
	return d.Stands(jetstore.StreamEvents, events.EventSubject(kind, Queue, job, ">"))
}

// Await waits for the first event of the kind.
func (d *Deployment) Await(kind events.Kind, job string) {
	d.t.Helper()
	Eventually(d.t, string(kind)+" of "+job, func() bool { return d.Happened(kind, job) })
}

// Results are a job's results by custom_id. Two for one row, or two messages on one subject, fail the test.
func (d *Deployment) Results(job string) map[string]client.Result {
	d.t.Helper()
	results := map[string]client.Result{}
	for r, err := range d.Client.Results(Patiently(d.t), Queue, job, 0) {
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

// DeadLetters are a job's dead letters.
func (d *Deployment) DeadLetters(job string) []client.DeadLetter {
	d.t.Helper()
	var letters []client.DeadLetter
	for l, err := range d.Client.DeadLetters(Patiently(d.t), Queue, job, 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		letters = append(letters, l)
	}
	return letters
}

// WantAllSucceeded checks that a job has one result for each of the n rows of [Numbered], and no dead letter.
func (d *Deployment) WantAllSucceeded(job string, n int) {
	d.t.Helper()
	results := d.Results(job)
	for i := range n {
		if r, ok := results[RowID(i)]; !ok || r.Outcome != events.Succeeded || len(r.Response) == 0 {
			d.t.Fatalf("row %s of %s has %q", RowID(i), job, r.Raw)
		}
	}
	if letters := d.DeadLetters(job); len(results) != n || len(letters) > 0 {
		d.t.Errorf("%s has %d results and %d dead letters, want %d and none", job, len(results), len(letters), n)
	}
}

// WantPaid checks what was paid, by the provider's word: so many batches, every row in them once, none cancelled.
func (d *Deployment) WantPaid(batches, rows int) {
	d.t.Helper()
	l := d.Ledger()
	inBatches := 0
	for _, c := range l.Creates {
		inBatches += c.Rows
	}
	if len(l.Creates) != batches || inBatches != rows || l.RowsRun != rows || len(l.Cancels) > 0 {
		d.t.Errorf("the ledger has %d creates of %d rows, %d rows run, %d cancels; want %d, %d, %d, 0",
			len(l.Creates), inBatches, l.RowsRun, len(l.Cancels), batches, rows, rows)
	}
}
