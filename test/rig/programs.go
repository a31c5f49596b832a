package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// binDir is the environment variable that holds the folder of the built programs. It is one, and no variable of the program, since there
// is exactly one folder for a test binary, whatever package asks.
const binDir = "BATCHBUS_RIG_BIN"

// Run is what a TestMain does: it builds nats-server and every command of batchbus with the build tags, runs the tests and returns the exit
// code for os.Exit. The programs are gone when it returns. It must run in a folder two below the module's.
func Run(m *testing.M, tags ...string) int {
	dir, err := os.MkdirTemp("", "batchbus-rig")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := build(dir, tags); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv(binDir, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build(dir string, tags []string) error {
	cmd := exec.CommandContext(context.Background(), "go", "build", "-tags="+strings.Join(tags, ","), "-o", dir,
		"github.com/nats-io/nats-server/v2", "../../cmd/...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// Program is the path of a built program: nats-server, or a command such as ingest.
func Program(name string) string { return filepath.Join(os.Getenv(binDir), name) }

// CleanEnv is the environment without what would change what batchbus does.
func CleanEnv() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "DOUBLEWORD_") && !strings.HasPrefix(pair, "BATCHBUS_") {
			env = append(env, pair)
		}
	}
	return env
}
