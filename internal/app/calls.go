package app

import (
	"errors"
	"fmt"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// CallFlags are the flags for the budget of provider calls.
type CallFlags struct {
	MaxProviderCalls int     `placeholder:"N" help:"Most calls of the provider that this process has under way at once, uploads and downloads included: at least 6. Default 16."`
	MaxProviderRate  float64 `placeholder:"N" help:"Most calls of the provider that this process begins in a second. Default: any number."`
}

// Calls are what the flags say, or all that is wrong with them.
func (f CallFlags) Calls() (doubleword.BudgetConfig, error) {
	var faults []error
	if f.MaxProviderCalls != 0 && f.MaxProviderCalls < doubleword.MinMaxCalls {
		faults = append(faults, fmt.Errorf("--max-provider-calls: %d is too few: at least %d", f.MaxProviderCalls, doubleword.MinMaxCalls))
	}
	if f.MaxProviderRate < 0 {
		faults = append(faults, fmt.Errorf("--max-provider-rate: %g is negative", f.MaxProviderRate))
	}
	return doubleword.BudgetConfig{MaxCalls: f.MaxProviderCalls, MaxPerSecond: f.MaxProviderRate}, errors.Join(faults...)
}
