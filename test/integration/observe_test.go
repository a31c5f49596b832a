package integration_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// await waits until n messages stand below the filter, and returns the nth.
func (s *stack) await(stream, filter string, n int) jetstream.Msg {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	consumer, err := s.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}})
	if err != nil {
		s.t.Fatal(err)
	}
	messages, err := consumer.Messages(jetstream.PullHeartbeat(time.Second))
	if err != nil {
		s.t.Fatal(err)
	}
	defer messages.Stop()
	var last jetstream.Msg
	for got := range n {
		if last, err = messages.Next(jetstream.NextContext(ctx)); err != nil {
			s.t.Fatalf("%s has %d of %d messages: %v\n%s", filter, got, n, err, s.states())
		}
	}
	return last
}

// awaitEvent waits for the first event of the kind.
func (s *stack) awaitEvent(kind events.Kind, job string) events.Event {
	s.t.Helper()
	m := s.await(jetstore.StreamEvents, events.EventSubject(kind, queue, job, ">"), 1)
	e, err := events.ParseEvent(m.Data())
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

// states says where every job and batch stands, for a test that waits in vain.
func (s *stack) states() string {
	ctx := context.WithoutCancel(s.t.Context())
	var text strings.Builder
	for j, err := range s.bus.Jobs.Jobs(ctx) {
		fmt.Fprintf(&text, "job %s %s hold %+v err %v\n", j.Job.Job, j.State, j.Hold, err)
	}
	for b, err := range s.bus.Jobs.AllBatches(ctx) {
		fmt.Fprintf(&text, "batch %s/%s %s %q last error %q hold %+v counts %+v err %v\n",
			b.Job, b.N, b.State, b.Why, b.LastError, b.Hold, b.Counts, err)
	}
	return text.String()
}

// events are a job's events in the order of the stream.
func (s *stack) events(job string) []events.Event {
	s.t.Helper()
	var all []events.Event
	for m, err := range s.store.Read(s.t.Context(), jetstore.StreamEvents, events.EventSubject("*.*", queue, job, ">"), 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		e, err := events.ParseEvent(m.Data)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// results are a job's results by custom_id. Two for one row fail the test.
func (s *stack) results(job string) map[string]client.Result {
	s.t.Helper()
	results, counts := map[string]client.Result{}, map[string]int{}
	for m, err := range s.store.Read(s.t.Context(), jetstore.StreamResults, events.ResultsFilter(queue, job), 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		counts[m.Subject]++
	}
	for r, err := range s.bus.Client.Results(s.t.Context(), queue, job, 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		subject := events.ResultSubject(queue, job, r.CustomID)
		if _, twice := results[r.CustomID]; twice || counts[subject] != 1 {
			s.t.Errorf("row %q has %d results on its subject, and one more: %t", r.CustomID, counts[subject], twice)
		}
		results[r.CustomID] = r
	}
	if len(counts) != len(results) {
		s.t.Errorf("%d result subjects for %d rows", len(counts), len(results))
	}
	return results
}

// deadLetters are a job's dead letters.
func (s *stack) deadLetters(job string) []client.DeadLetter {
	s.t.Helper()
	var letters []client.DeadLetter
	for d, err := range s.bus.Client.DeadLetters(s.t.Context(), queue, job, 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		letters = append(letters, d)
	}
	return letters
}

// outcomes counts results by outcome.
func outcomes(results map[string]client.Result) map[events.Outcome]int {
	counts := map[events.Outcome]int{}
	for _, r := range results {
		counts[r.Outcome]++
	}
	return counts
}

func wantOutcomes(t *testing.T, results map[string]client.Result, want map[events.Outcome]int) {
	t.Helper()
	if got := outcomes(results); !maps.Equal(got, want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
}

func codes(letters []client.DeadLetter) []string {
	all := make([]string, 0, len(letters))
	for _, d := range letters {
		all = append(all, d.Code)
	}
	slices.Sort(all)
	return all
}

// wantPaid checks by the ledger how many batches were made, each for another input, and that each row ran once.
func wantPaid(t *testing.T, ledger simulator.Ledger, batches, rows int) {
	t.Helper()
	paths, sum := map[string]int{}, 0
	for _, c := range ledger.Creates {
		paths[c.Metadata["batchbus"]]++
		sum += c.Rows
	}
	if len(ledger.Creates) != batches || len(paths) != batches || sum != rows || ledger.RowsRun != rows {
		t.Errorf("%d creates on %d paths with %d rows, %d rows run; want %d batches with %d rows",
			len(ledger.Creates), len(paths), sum, ledger.RowsRun, batches, rows)
	}
}

// wantAllOnce checks that the job has one succeeded result for each id and nothing else.
func (s *stack) wantAllOnce(job string, ids []string) {
	s.t.Helper()
	results := s.results(job)
	for _, id := range ids {
		if r, ok := results[id]; !ok || r.Outcome != events.Succeeded || len(r.Response) == 0 {
			s.t.Errorf("row %s: %t, outcome %s, %d bytes", id, ok, r.Outcome, len(r.Response))
		}
	}
	if len(results) != len(ids) {
		s.t.Errorf("%d results for %d rows", len(results), len(ids))
	}
	if letters := s.deadLetters(job); len(letters) > 0 {
		s.t.Errorf("dead letters %v", codes(letters))
	}
}
