package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/queues"
)

// SimulatorName is the provider that a data directory with simulated answers serves.
const SimulatorName = "simulator"

// MinStore is the least that a bus can be given: the smallest stream that holds rows then takes a few of the largest.
const MinStore = 256 << 20

// ProviderName is the provider that the directory serves or will serve.
func (o *LocalOptions) ProviderName() string {
	if o.Simulate {
		return SimulatorName
	}
	return o.BaseURL
}

// CheckDir tells whether a data directory, if it is there, serves another provider ([*DirProviderError]). It changes nothing, so it can come
// before the provider is asked for the first time.
func CheckDir(dir, provider string) error {
	has, err := os.ReadFile(filepath.Join(dir, providerFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read provider of data directory: %w", err)
	}
	if name := strings.TrimSuffix(string(has), "\n"); name != provider {
		return &DirProviderError{Dir: dir, Has: name, Wanted: provider}
	}
	return nil
}

// CheckTimes reports every time that is negative.
func (f TimeFlags) CheckTimes() error {
	var faults []error
	for _, flag := range []struct {
		name  string
		value time.Duration
	}{
		{"create-timeout", f.CreateTimeout},
		{"quiet-period", f.QuietPeriod},
		{"upload-allowance", f.UploadAllowance},
		{"poll-floor", f.PollFloor},
		{"poll-ceiling", f.PollCeiling},
		{"patience", f.Patience},
		{"stuck-timeout", f.StuckTimeout},
		{"missing-grace", f.MissingGrace},
		{"cancel-grace", f.CancelGrace},
		{"sweep-interval", f.SweepInterval},
		{"drain-timeout", f.DrainTimeout},
		{"linger", f.Linger},
		{"orphan-age", f.OrphanAge},
		{"orphan-interval", f.OrphanInterval},
		{"object-age", f.ObjectAge},
		{"keep-interval", f.KeepInterval},
	} {
		if flag.value < 0 {
			faults = append(faults, fmt.Errorf("--%s: %s is negative", flag.name, flag.value))
		}
	}
	if f.Linger%time.Second != 0 {
		faults = append(faults, fmt.Errorf("--linger: %s is not in whole seconds", f.Linger))
	}
	if f.Linger > queues.MaxLinger {
		faults = append(faults, fmt.Errorf("--linger: %s is more than %s", f.Linger, queues.MaxLinger))
	}
	return errors.Join(faults...)
}
