package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// SimulatorFlags are what a person may set about a simulated provider.
type SimulatorFlags struct {
	SimulatorSeed        uint64        `placeholder:"N" help:"Simulator: seed of its answers."`
	SimulatorLatency     time.Duration `placeholder:"DURATION" help:"Simulator: wait before a batch's rows start."`
	SimulatorRate        float64       `placeholder:"N" help:"Simulator: rows per second and batch; 0 is as fast as it can."`
	SimulatorFailureRate float64       `placeholder:"SHARE" help:"Simulator: share of the rows that fail, 0 to 1."`
}

// simulatorSweep is how soon a finished batch is shown as completed in lists. The provider takes 10 s (doubleword-contract.md 5.2); beside
// a person who waits for a made-up answer that is too long.
const simulatorSweep = 200 * time.Millisecond

// CheckSimulator reports what makes no sense, all of it.
func (f *SimulatorFlags) CheckSimulator() error {
	var faults []error
	if f.SimulatorRate < 0 {
		faults = append(faults, fmt.Errorf("--simulator-rate: %g is negative", f.SimulatorRate))
	}
	if f.SimulatorFailureRate < 0 || f.SimulatorFailureRate > 1 {
		faults = append(faults, fmt.Errorf("--simulator-failure-rate: %g is not between 0 and 1", f.SimulatorFailureRate))
	}
	if f.SimulatorLatency < 0 {
		faults = append(faults, fmt.Errorf("--simulator-latency: %s is negative", f.SimulatorLatency))
	}
	return errors.Join(faults...)
}

func (f *SimulatorFlags) config(dir string) simulator.Config {
	return simulator.Config{
		Dir: dir, Seed: f.SimulatorSeed, Latency: f.SimulatorLatency,
		RowsPerSecond: f.SimulatorRate, FailureRate: f.SimulatorFailureRate, SweepInterval: simulatorSweep,
	}
}
