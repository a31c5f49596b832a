// Package deploy_test runs batchbus as people deploy it: a real nats-server, the provider's simulator and each service as processes of
// their own, several of each, killed at bad moments. It publishes by subjects and pkg/client, and judges by what stands in the streams
// and by the simulator's ledger. The programs are built without the race detector, whose memory and time would be what is measured.
package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "batchbus-deploy")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir, "github.com/nats-io/nats-server/v2", "../../cmd/ingest", "../../cmd/submitter",
		"../../cmd/poller", "../../cmd/collector", "../../cmd/simulator", "../../cmd/batchbus")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	os.Setenv(binDir, dir)
	return m.Run()
}

// binDir is the environment variable that holds the folder of the built programs.
const binDir = "BATCHBUS_DEPLOY_BIN"

func program(name string) string { return filepath.Join(os.Getenv(binDir), name) }
