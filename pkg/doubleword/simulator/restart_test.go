package simulator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// killed copies what a killed process leaves on disk, with a torn line at the end of the journal.
func killed(t *testing.T, dir string) string {
	t.Helper()
	left := t.TempDir()
	// The journal first: an event names only files that are there before it.
	journal, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(left, "files"), os.DirFS(filepath.Join(dir, "files"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "journal.jsonl"), append(journal, `{"kind":"ran","at":"20`...), 0o600); err != nil {
		t.Fatal(err)
	}
	return left
}

func TestAKilledSimulatorGoesOnWhereItsClientsSawIt(t *testing.T) {
	t.Parallel()
	cfg := simulator.Config{Seed: 4, Dir: t.TempDir(), RowsPerSecond: 2000, FailureRate: 0.2, Faults: []simulator.Fault{
		{Kind: simulator.FaultStatus, Route: "GET /v1/models", Nth: 2, Status: 500},
	}}
	before := start(t, cfg)
	batch := before.create(before.upload(chatRows(600)))
	before.get("/v1/models")
	before.until(batch.id, func(b map[string]any) bool {
		return b["request_counts"].(map[string]any)["completed"].(float64) > 100
	})
	output, errors := before.content(batch.output, "").body, before.content(batch.errors, "").body
	cfg.Dir = killed(t, cfg.Dir)
	cfg.FailureRate = 1 // what the batch does was settled when it was created
	after := start(t, cfg)
	if a := after.get("/v1/models"); a.status != 500 {
		t.Errorf("the second call of a route is the first after a restart: %d", a.status)
	}
	after.untilStatus(batch.id, "completed")
	all, bad := after.content(batch.output, "").body, after.content(batch.errors, "").body
	if !strings.HasPrefix(all, output) || !strings.HasPrefix(bad, errors) {
		t.Error("lines that a client saw have moved")
	}
	if n := strings.Count(all, "\n") + strings.Count(bad, "\n"); n != 600 {
		t.Errorf("%d rows", n)
	}
	before.untilStatus(batch.id, "completed")
	if before.content(batch.output, "").body != all {
		t.Error("the killed run and the undisturbed one differ")
	}
	if l := after.sim.Ledger(); l.RowsRun != 600 || len(l.Creates) != 1 || l.Creates[0].RowsRun != 600 || l.Creates[0].Metadata["batchbus"] == "" {
		t.Errorf("ledger %+v", l)
	}
	if a := after.content(after.sim.Ledger().Uploads[0].FileID, ""); strings.Count(a.body, "\n") != 600 {
		t.Errorf("the input has %d rows", strings.Count(a.body, "\n"))
	}
}

func TestEveryOperationSurvivesARestart(t *testing.T) {
	t.Parallel()
	cfg := simulator.Config{Dir: t.TempDir()}
	p := start(t, cfg)
	gone := p.upload(chatRows(1))
	p.call("DELETE", "/v1/files/"+gone, "")
	cancelled, deleted := p.create(p.upload(chatRows(2))), p.create(p.upload(chatRows(2)))
	p.untilStatus(cancelled.id, "completed")
	p.call("POST", "/v1/batches/"+cancelled.id+"/cancel", "")
	p.call("DELETE", "/v1/batches/"+deleted.id, "")
	retried := p.create(p.upload(chatRows(2) + chatRow("hot", `,"temperature":9`)))
	p.untilStatus(retried.id, "completed")
	p.call("POST", "/v1/batches/"+retried.id+"/retry", "")
	p.untilStatus(retried.id, "completed")
	want := []answer{p.get("/v1/batches"), p.get("/v1/files"), p.content(retried.errors, "")}

	cfg.Dir = killed(t, cfg.Dir)
	after := start(t, cfg)
	for i, got := range []answer{after.get("/v1/batches"), after.get("/v1/files"), after.content(retried.errors, "")} {
		if got.body != want[i].body || got.status != want[i].status {
			t.Errorf("got  %s\nwant %s", got.body, want[i].body)
		}
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, "files", gone+".jsonl")); !os.IsNotExist(err) {
		t.Errorf("rows of a deleted file: %v", err)
	}
}

func TestASecondKillLosesNothingOfTheFirstRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range 3 {
		p := start(t, simulator.Config{Dir: dir})
		if got := len(p.sim.Ledger().Uploads); got != n {
			t.Errorf("life %d begins with %d uploads", n+1, got)
		}
		p.upload(chatRows(1))
		dir = killed(t, dir)
	}
}

func TestAClosedSimulatorChangesNothing(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	for range 2 {
		if err := p.sim.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if a := p.get("/v1/batches"); a.status != 500 {
		t.Errorf("%d", a.status)
	}
}
