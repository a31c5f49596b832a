package files_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/internal/submitter/files"
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
	age   = time.Hour // of what may go: a day of fake time takes seconds
)

// world is a bus and a simulated provider, in fake time.
type world struct {
	t      *testing.T
	bus    *jetstore.Store
	jobs   *jobs.Store
	sim    *simulator.Simulator
	client *doubleword.Client
}

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
			BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("sk-test"), Transport: simulator.Transport{Handler: sim}, RetryTimeout: -1,
		})
		if err != nil {
			t.Fatal(err)
		}
		test(&world{t: t, bus: f.Store, jobs: jobs.New(f.Store), sim: sim, client: client})
	})
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// upload uploads an input file of one row and returns its id.
func (w *world) upload(name string) string {
	w.t.Helper()
	const row = `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}}`
	f, err := w.client.UploadFile(w.t.Context(), name, func(out io.Writer) error {
		_, err := io.WriteString(out, row)
		return err
	})
	w.check(err)
	return f.ID
}

// post makes a batch of a file, as a process or a person that no state tells of.
func (w *world) post(fileID string, metadata map[string]string) {
	w.t.Helper()
	_, err := w.client.CreateBatch(w.t.Context(), doubleword.NewBatch{
		InputFileID: fileID, Endpoint: "/v1/chat/completions", CompletionWindow: "24h", Metadata: metadata,
	})
	w.check(err)
}

// state stores a batch that has come to a state with a file.
func (w *world) state(n string, state events.BatchState, fileID string) {
	w.t.Helper()
	w.check(w.commit(w.t.Context(), n, state, fileID))
}

func (w *world) commit(ctx context.Context, n string, state events.BatchState, fileID string) error {
	b, err := w.jobs.Batch(ctx, queue, job, n)
	if err != nil {
		b = jobs.Batch{Batch: events.Batch{Queue: queue, Job: job, N: n, Key: key}}
	}
	b.State, b.FileID = state, fileID
	change := jobs.NewChange(time.Now())
	change.Batch(&b)
	return w.jobs.Commit(ctx, change)
}

// config is a sweeper's; a test may edit it.
func (w *world) config(provider files.Provider) files.Config {
	return files.Config{
		Jobs: w.jobs, BusID: busID, Age: age, Keys: []string{"gone", key},
		Provider: func(name string) (files.Provider, bool) { return provider, name == key },
	}
}

// sweep sweeps once and returns how many files are gone.
func (w *world) sweep(provider files.Provider) int {
	w.t.Helper()
	told := 0
	config := w.config(provider)
	config.Observe = obs.Hooks{OnFileDeleted: func() { told++ }}
	s, err := files.New(config)
	w.check(err)
	deleted, err := s.Sweep(w.t.Context())
	w.check(err)
	if told != deleted {
		w.t.Errorf("%d deleted files were told of, not %d", told, deleted)
	}
	return deleted
}

// deleted are the ids of the files that were deleted at the provider, by its own ledger.
func (w *world) deleted() map[string]bool {
	ids := make(map[string]bool)
	for _, d := range w.sim.Ledger().Deletes {
		ids[d.ID] = true
	}
	return ids
}

// fileName is the name of an input file of the tests' job.
func fileName(bus, n, attempt string) string {
	return submit.FilePrefix(bus) + strings.Join([]string{queue, job, n, attempt, "jsonl"}, ".")
}

// path is what the tests' batch is called at the provider.
func path(n string) map[string]string {
	return map[string]string{submit.MetaPath: submit.Path(busID, &events.Batch{Queue: queue, Job: job, N: n})}
}

// pass lets fake time pass.
func pass(d time.Duration) { time.Sleep(d) }
