package retry_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/internal/requeue"
	"github.com/batchbus/batchbus/internal/retry"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
	"github.com/batchbus/batchbus/pkg/rows"
)

const queue = "q"

// tail is a row's line behind its custom_id.
const tail = `,"method":"POST","url":"/v1/chat/completions","body":{ "model":"m" }}`

func entry(id, window string) block.Entry {
	row := block.Hash(rows.HashRow([]byte(id + tail)))
	return block.Entry{
		Source: messages.Source(row, 1, id), ID: rows.HashID(id), Row: row, CustomID: id, Line: 1,
		Group: events.GroupKey{Window: window, URL: "/v1/chat/completions", Model: "m"}, Tail: []byte(tail),
	}
}

// store puts a block of the entries, and for each a result that failed for a passing reason.
func store(t *testing.T, f *jetstoretest.Fixture, job string, results bool, entries ...block.Entry) {
	t.Helper()
	var b block.Builder
	for i := range entries {
		b.Add(&entries[i])
		if !results {
			continue
		}
		r := events.Result{
			CustomID: entries[i].CustomID, Queue: queue, Job: job, Outcome: events.Failed, Error: &events.Error{Code: "overloaded", Retryable: true},
		}
		if _, err := f.Store.PublishOnce(t.Context(), messages.Result(&r, entries[i].Source)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Store.Publish(t.Context(), &nats.Msg{Subject: events.RowsSubject(queue, job), Data: b.Bytes()}); err != nil {
		t.Fatal(err)
	}
}

func ended(job string) *jobs.Job {
	return &jobs.Job{Job: events.Job{Queue: queue, Job: job, State: events.JobCompleted, Policy: events.DefaultPolicy()}}
}

// published are the rows of a part, and the error that ends them.
func published(t *testing.T, f *jetstoretest.Fixture, p *retry.Part) (lines []string, last error) {
	t.Helper()
	for row, err := range p.Messages(t.Context(), f.Store) {
		if err != nil {
			last = err
			break
		}
		lines = append(lines, row.Window+string(row.Line))
	}
	return lines, last
}

func TestThePartsOfARetryHoldEachRowOnce(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	var want []string
	for i := range 7 {
		e := entry(fmt.Sprint("row-", i), map[bool]string{true: "1h", false: "24h"}[i == 3])
		store(t, f, "nightly", true, e)
		if i == 4 {
			store(t, f, "nightly", false, e) // the block was delivered twice
		}
		window := ""
		if i == 3 {
			window = "1h"
		}
		want = append(want, window+`{"custom_id":"`+e.CustomID+`"`+tail)
	}
	var got []string
	parts := 0
	for after := uint64(0); parts == 0 || after > 0; parts++ {
		p, err := retry.Find(t.Context(), f.Store, ended("nightly"), &retry.Selection{}, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := published(t, f, p)
		if err != nil || len(lines) != p.Rows() {
			t.Errorf("part %d: %d of %d rows, %v", parts, len(lines), p.Rows(), err)
		}
		got, after = append(got, lines...), p.Next
	}
	slices.Sort(got)
	slices.Sort(want)
	if parts != 3 || !slices.Equal(got, want) {
		t.Errorf("%d parts: %q", parts, got)
	}
}

func TestRowsThatAnotherRetryHoldsAreLeftOut(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	a, b := entry("a", "24h"), entry("b", "24h")
	store(t, f, "nightly", true, a, b)
	held := entry("b", "24h")
	held.Source = block.Hash{1} // of the other job's own request
	store(t, f, "nightly-retry1", false, held)
	all := jobs.New(f.Store)
	ref := &events.JobRef{Queue: queue, Job: "nightly"}
	for _, name := range []string{"nightly-retry1", "nightly-retry2"} {
		if _, err := all.Open(t.Context(), queue, name, jobs.Options{Policy: events.DefaultPolicy(), Retries: ref}); err != nil {
			t.Fatal(err)
		}
	}
	linked, err := requeue.FindLinked(t.Context(), all, requeue.Retries(), queue, "nightly")
	if err != nil || len(linked.Jobs) != 2 {
		t.Fatalf("%d linked jobs, %v", len(linked.Jobs), err)
	}
	linked.Except(queue, "nightly-retry2")
	p, err := retry.Find(t.Context(), f.Store, ended("nightly"), &retry.Selection{}, 0, retry.MaxRows)
	if err == nil {
		err = p.LeaveOut(t.Context(), f.Store, linked)
	}
	if err != nil || p.Rows() != 1 || p.LeftOut != 1 {
		t.Fatalf("%d rows, %d left out, %v", p.Rows(), p.LeftOut, err)
	}
	if lines, err := published(t, f, p); err != nil || len(lines) != 1 || lines[0] != `{"custom_id":"a"`+tail {
		t.Errorf("%q, %v", lines, err)
	}
}

func TestARowThatIsNotInItsBlockAnyMoreIsAnError(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	store(t, f, "nightly", true, entry("a", "24h"))
	store(t, f, "nightly", true, entry("b", "24h"))
	if err := f.Store.Purge(t.Context(), "BATCHBUS_ROWS", events.RowsSubject(queue, "nightly"), 1); err != nil {
		t.Fatal(err)
	}
	p, err := retry.Find(t.Context(), f.Store, ended("nightly"), &retry.Selection{}, 0, retry.MaxRows)
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := published(t, f, p); !errors.Is(err, retry.ErrRowsGone) || len(lines) != 1 {
		t.Errorf("%q, %v", lines, err)
	}
}
