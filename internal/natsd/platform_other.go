//go:build !(linux || darwin || freebsd)

package natsd

import (
	"fmt"
	"os"
	"path/filepath"
)

// lockDir opens the lock file. These systems have no lock that dies with its process in the standard library: keeping two
// servers off one directory is the caller's business here.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "batchbus.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	return f, nil
}

// freeDisk assumes 16 GiB: set Options.MaxStore on these systems.
func freeDisk(string) int64 { return 16 << 30 }
