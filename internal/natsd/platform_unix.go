//go:build linux || darwin || freebsd

package natsd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockDir takes the directory's lock; the kernel drops it with the process, however that ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "batchbus.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrInUse
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock store directory: %w", err), f.Close())
	}
	return f, nil
}

// freeDisk is how many bytes an ordinary user may still write to the directory's disk.
func freeDisk(dir string) int64 {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fallbackDisk
	}
	return int64(fs.Bavail) * int64(fs.Bsize) //nolint:unconvert // the field types differ between systems
}

// fallbackDisk is assumed when the system does not say how much is free.
const fallbackDisk = 16 << 30
