package collector_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// run runs a service until the returned function is called, which reports whether it ended as it should.
func (w *world) run(s *collector.Service) (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() {
		w.t.Helper()
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("run: %v", err)
		}
	}
}

// simulated replaces the provider by the simulator and makes a batch of the world's rows there.
func (w *world) simulated(c simulator.Config) (*doubleword.Client, doubleword.Batch, *simulator.Simulator) {
	w.t.Helper()
	sim, err := simulator.New(c)
	w.ok(err)
	client, err := doubleword.New(doubleword.Config{
		BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("k"), Transport: simulator.Transport{Handler: sim},
	})
	w.ok(err)
	var lines bytes.Buffer
	for place, id := range w.ids {
		tail := `,"method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":` + quote(id) + `}]}}`
		lines.Write(rows.AppendLine(nil, w.wire(place), []byte(tail)))
	}
	file, err := client.UploadFile(w.ctx(), "rows.jsonl", func(to io.Writer) error {
		_, err := to.Write(lines.Bytes())
		return err
	})
	w.ok(err)
	remote, err := client.CreateBatch(w.ctx(), doubleword.NewBatch{
		InputFileID: file.ID, Endpoint: "/v1/chat/completions", CompletionWindow: "24h",
	})
	w.ok(err)
	w.edit(events.BatchIsSubmitted, func(b *events.Batch) {
		b.ProviderBatchID, b.OutputFileID, b.ErrorFileID = remote.ID, remote.OutputFileID, remote.ErrorFileID
	})
	return client, remote, sim
}

// poll plays the poller every 10 s until the batch has ended, and then waits until it is settled.
func (w *world) poll(client *doubleword.Client, id string) (early int) {
	w.t.Helper()
	for range 1000 {
		remote, err := client.Batch(w.ctx(), id)
		w.ok(err)
		b := w.batch()
		switch {
		case b.State == events.BatchSettled:
			return early
		case b.State == events.BatchSubmitted && remote.Terminal():
			early = len(w.results())
			w.finish(remote.Status, remote.Counts.Completed, remote.Counts.Failed)
		case b.State == events.BatchSubmitted && events.Counts(remote.Counts) != b.Counts:
			w.edit(events.BatchProgress, func(b *events.Batch) { b.Counts, b.Status = events.Counts(remote.Counts), remote.Status })
		}
		pass(10 * time.Second)
	}
	w.t.Fatalf("never settled: %+v", w.batch())
	return 0
}

func TestAgainstTheSimulator(t *testing.T) {
	t.Parallel()
	inWorld(t, named(400), func(w *world) {
		client, remote, sim := w.simulated(simulator.Config{
			Seed: 7, Dir: t.TempDir(), RowsPerSecond: 2, FailureRate: 0.1,
			Faults: []simulator.Fault{
				{Kind: simulator.FaultMissingRow, CustomIDs: []string{"5~row-00005"}},
				{Kind: simulator.FaultLateRow, CustomIDs: []string{"9~row-00009", "200~row-00200"}, Delay: time.Minute},
				{Kind: simulator.FaultShortBody, Route: "GET /v1/files/{id}/content", Nth: 2, Bytes: 5000},
				{Kind: simulator.FaultShortBody, Route: "GET /v1/files/{id}/content", Nth: 4, Bytes: 3000, Clean: true},
			},
		})
		defer func() { w.ok(sim.Close()) }()
		stop := w.run(w.service(func(c *collector.Config) {
			c.Provider = func(string) (collector.Provider, bool) { return client, true }
		}))
		defer stop()
		early := w.poll(client, remote.ID)
		if early < 200 {
			t.Errorf("only %d results came before the end", early)
		}
		results := w.results()
		w.want("results", len(results), 400)
		w.want("the row that only the merged results hold", results["row-00005"].Outcome, events.Succeeded)
		w.want("calls for them", sim.Ledger().Calls["GET /v1/batches/{id}/results"], 1)
		totals := w.batch().Totals
		w.want("totals", []int{totals.Rows, totals.Succeeded + totals.Failed}, []int{400, 400})
		var usage events.Usage
		for id, r := range results {
			if r.Outcome == events.Succeeded && !strings.Contains(string(r.Response), id) {
				t.Errorf("%s has another row's answer: %s", id, r.Response)
			}
			if r.Usage != nil {
				usage.Add(*r.Usage)
			}
		}
		w.want("usage", totals.Usage, usage)
		w.want("rows that ran", sim.Ledger().RowsRun, 400)
	})
}

func TestTheHintOfAFinishedBatchStaysUntilItIsSettled(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		stop := w.run(w.service(func(c *collector.Config) { c.SweepInterval = 24 * time.Hour }))
		defer stop()
		pass(time.Second) // the first sweep is over
		w.answers(0)
		w.finish("completed", 2, 0)
		pass(3 * time.Minute)
		w.want("state", w.batch().State, events.BatchSettled)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 1, "failed missing_result": 1})
	})
}

func TestAServiceThatStopsInTheMiddleLosesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, named(50), func(w *world) {
		opened := make(chan struct{})
		lines := make(chan string)
		w.answers(0, 1)
		p := &slowProvider{fakeProvider: w.p, opened: opened, lines: lines}
		first := w.service(func(c *collector.Config) { c.Provider = func(string) (collector.Provider, bool) { return p, true } })
		stop := w.run(first)
		w.edit(events.BatchProgress, func(b *events.Batch) { b.Counts.Completed = 2 })
		<-opened
		for place := range 10 {
			lines <- okLine(w.wire(place), `{"n":1}`) + "\n"
		}
		begin := time.Now()
		stop()
		if took := time.Since(begin); took > 11*time.Second {
			t.Errorf("stopping took %s", took)
		}
		for place := range 50 {
			if place > 1 {
				w.answers(place)
			}
		}
		stop = w.run(w.service(nil))
		defer stop()
		w.finish("completed", 50, 0)
		for range 100 {
			if w.batch().State == events.BatchSettled {
				break
			}
			pass(time.Second)
		}
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 50})
		w.want("totals", w.batch().Totals.Rows, 50)
	})
}

// slowProvider hands out one output file as lines come over a channel, and then nothing until it is closed.
type slowProvider struct {
	*fakeProvider
	opened chan struct{}
	lines  chan string
}

func (p *slowProvider) Content(ctx context.Context, _ string, _ doubleword.ContentQuery) (*doubleword.Content, error) {
	r, w := io.Pipe()
	unhook := context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for {
			select {
			case line := <-p.lines:
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	p.opened <- struct{}{}
	return &doubleword.Content{Body: &hookedBody{PipeReader: r, unhook: unhook}}, nil
}

type hookedBody struct {
	*io.PipeReader
	unhook func() bool
}

func (b *hookedBody) Close() error {
	b.unhook()
	return b.PipeReader.Close()
}

func TestAServiceNamesEverythingThatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := collector.New(collector.Config{Workers: -1})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"bus", "jobs store", "provider", "workers"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}
