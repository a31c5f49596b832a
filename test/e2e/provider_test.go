package e2e_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// realProvider serves the simulator as if it were the real one: over HTTP, and with a key.
func realProvider(t *testing.T, key string) (url string, stop func()) {
	t.Helper()
	fake, err := simulator.New(simulator.Config{Keys: []string{key}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake)
	return server.URL + "/v1", func() {
		server.Close()
		_ = fake.Close()
	}
}

// readLedger opens the simulator's directory below a data directory, which nobody has open, and returns what was done to it.
func readLedger(t *testing.T, dir string) simulator.Ledger {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "simulator")
	if out, err := exec.CommandContext(context.Background(), "cp", "-r", filepath.Join(dir, ".batchbus", "simulator"), copied).CombinedOutput(); err != nil {
		t.Fatalf("copy: %v: %s", err, out)
	}
	fake, err := simulator.New(simulator.Config{Dir: copied})
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	return fake.Ledger()
}

// python runs a script with python3, or skips loudly.
func python(t *testing.T, dir, script string) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Log("python3 is not on this CI machine")
		}
		t.Skip("SKIPPED: python3 is not here, so the guide's snippets were not run")
	}
	cmd := exec.CommandContext(t.Context(), path, "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v\n%s", err, out)
	}
	return string(out)
}
