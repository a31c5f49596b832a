package submit_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) { jetstoretest.Verify(m) }

const (
	queue = "default"
	job   = "Nightly_1"
	key   = "main"
	busID = "BUS7"
)

// world is a bus, a simulated provider and planned batches, in fake time.
type world struct {
	t      *testing.T
	bus    *jetstore.Store
	jobs   *jobs.Store
	sim    *simulator.Simulator
	client *doubleword.Client
}

// bubble runs test in a world of its own.
func bubble(t *testing.T, cfg simulator.Config, test func(w *world)) {
	t.Helper()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		sim, err := simulator.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		client, err := doubleword.New(doubleword.Config{
			BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("sk-test"), Transport: simulator.Transport{Handler: sim},
			RetryTimeout: -1,
		})
		if err != nil {
			t.Fatal(err)
		}
		test(&world{t: t, bus: f.Store, jobs: jobs.New(f.Store), sim: sim, client: client})
	})
}

// process is one more process of the submitter. edit may be nil.
func (w *world) process(provider submit.Provider, edit func(*submit.Config)) *submit.Submitter {
	w.t.Helper()
	config := submit.Config{
		Bus: w.bus, Jobs: w.jobs, Log: zerolog.Nop(), BusID: busID,
		Provider: func(name string) (submit.Provider, bool) { return provider, name == key },
	}
	if edit != nil {
		edit(&config)
	}
	s, err := submit.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// plan stores a job that is fully planned: batches with the given numbers of rows each.
func (w *world) plan(rows ...int) {
	w.t.Helper()
	w.planIn(queue, job, events.DefaultPolicy(), rows...)
}

// planIn is plan for a job of any name, queue and policy.
func (w *world) planIn(queue, job string, policy events.Policy, rows ...int) {
	w.t.Helper()
	ctx := w.t.Context()
	opened, err := w.jobs.Open(ctx, queue, job, jobs.Options{Policy: policy})
	w.check(err)
	change := jobs.NewChange(time.Now())
	for i, n := range rows {
		change.Batch(w.plannedIn(queue, job, strconv.Itoa(i+1), n), events.BatchIsPlanned)
	}
	opened.State, opened.Batches = events.JobPlanned, len(rows)
	change.Job(&opened)
	w.check(w.jobs.Commit(ctx, change))
}

func group() events.GroupKey {
	return events.GroupKey{Window: "24h", URL: "/v1/chat/completions", Model: "m"}
}

func customID(n string, i int) string { return "row-" + n + "-" + strconv.Itoa(i) }

// tail is what follows the custom_id in a row's line.
func tail(n string) string {
	return `,"method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"<&>\u2028 ` + n + `"}]}}`
}

// planned publishes a block of rows and returns the batch that holds them.
func (w *world) planned(n string, rows int) *jobs.Batch {
	w.t.Helper()
	return w.plannedIn(queue, job, n, rows)
}

func (w *world) plannedIn(queue, job, n string, rows int) *jobs.Batch {
	w.t.Helper()
	ctx := w.t.Context()
	var builder block.Builder
	b := &jobs.Batch{Batch: events.Batch{
		Queue: queue, Job: job, N: n, State: events.BatchPlanned, SinceAt: time.Now(), GroupKey: group(), Key: key, Rows: rows,
	}}
	digest := manifest.NewDigest(group())
	entries := make([]manifest.Entry, rows)
	for i := range rows {
		e := block.Entry{CustomID: customID(n, i), Sequence: 1, Line: i + 1, Group: group(), Tail: []byte(tail(n)), Size: len(tail(n))}
		copy(e.Row[:], fmt.Sprintf("row %s %d", n, i))
		copy(e.Source[:], fmt.Sprintf("src %s %d", n, i))
		builder.Add(&e)
		digest.Add(e.CustomID, e.Row)
		b.Bytes += manifest.LineSize(i, &e, false)
		entries[i] = manifest.Entry{Place: events.RowPlace{Index: i}, Attempt: 1, Row: e.Row, Source: e.Source}
	}
	sequence, err := w.bus.Publish(ctx, &nats.Msg{Subject: events.RowsSubject(queue, job), Data: builder.Bytes()})
	w.check(err)
	for i := range entries {
		entries[i].Place.Sequence = sequence
	}
	b.Digest = digest.Sum()
	b.Manifest, err = manifest.Store(ctx, w.bus, b.StateKey(), entries)
	w.check(err)
	return b
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) batch(n string) jobs.Batch {
	w.t.Helper()
	b, err := w.jobs.Batch(w.t.Context(), queue, job, n)
	w.check(err)
	return b
}

// edit changes a batch as another process or a person would.
func (w *world) edit(n string, set func(b *jobs.Batch)) {
	w.t.Helper()
	b := w.batch(n)
	set(&b)
	change := jobs.NewChange(time.Now())
	change.Batch(&b)
	w.check(w.jobs.Commit(w.t.Context(), change))
}

func (w *world) cancelJob() {
	w.t.Helper()
	j, err := w.jobs.Job(w.t.Context(), queue, job)
	w.check(err)
	change := jobs.NewChange(time.Now())
	at := change.At()
	j.CancelWanted = &at
	change.Job(&j)
	w.check(w.jobs.Commit(w.t.Context(), change))
}

// pass lets fake time pass.
func pass(d time.Duration) { time.Sleep(d) }

// drive submits a batch until there is nothing more to do, as the redeliveries of its event would.
func (w *world) drive(s *submit.Submitter, n string) jobs.Batch {
	w.t.Helper()
	for range 2000 {
		if err := s.Submit(w.t.Context(), queue, job, n); err == nil {
			return w.batch(n)
		}
		pass(3 * time.Minute)
	}
	w.t.Fatalf("batch %s never came to rest: %+v", n, w.batch(n).Batch)
	return jobs.Batch{}
}

// live are the ids of a batch's remote batches that nobody cancelled.
func (w *world) live(n string) []string {
	var ids []string
	for _, created := range w.sim.Ledger().Creates {
		if created.Metadata[submit.MetaPath] != busID+"/"+queue+"/"+job+"/"+n+"/" {
			continue
		}
		remote, err := w.client.Batch(w.t.Context(), created.BatchID)
		w.check(err)
		if remote.Status != doubleword.StatusCancelled && remote.Status != doubleword.StatusCancelling {
			ids = append(ids, created.BatchID)
		}
	}
	return ids
}

// results are the job's results by custom_id.
func (w *world) results() map[string]events.Result {
	w.t.Helper()
	found := make(map[string]events.Result)
	for m, err := range w.bus.Read(w.t.Context(), jetstore.StreamResults, events.ResultsFilter(queue, job), 1) {
		w.check(err)
		r, err := events.ParseResult(m.Data)
		w.check(err)
		found[r.CustomID] = r
	}
	return found
}

// kinds are the kinds of a batch's events so far, in order.
func (w *world) kinds(n string) []events.Kind {
	w.t.Helper()
	var kinds []events.Kind
	for m, err := range w.bus.Read(w.t.Context(), jetstore.StreamJobs, events.PrefixEvents+"batch.>", 1) {
		w.check(err)
		kind, _, _, id, err := events.ParseEventSubject(m.Subject)
		w.check(err)
		if id[:strings.LastIndex(id, "-")] == n {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// onlyLive fails the test unless exactly one remote batch of the batch's path is live and its state follows it.
func (w *world) onlyLive(b *jobs.Batch) {
	w.t.Helper()
	live := w.live(b.N)
	if b.State != events.BatchSubmitted || len(live) != 1 || live[0] != b.ProviderBatchID {
		w.t.Errorf("batch "+b.N+": live at the provider: %v, the state is %s and follows %q (hold %v)", live, b.State, b.ProviderBatchID, b.Hold)
	}
}
