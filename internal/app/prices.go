package app

import (
	"fmt"
	"os"

	"github.com/batchbus/batchbus/internal/prices"
)

// PriceFlags is the flag for a price table.
type PriceFlags struct {
	Prices string `placeholder:"FILE" help:"JSON file with the prices of models, by which each result gets its cost: see examples/prices.json. Default: none; when simulated, prices that say so."`
}

// Table reads the table that the flag names; nil, which knows no price, when it names none.
func (f PriceFlags) Table() (*prices.Table, error) {
	if f.Prices == "" {
		return nil, nil //nolint:nilnil // a nil table knows no price
	}
	data, err := os.ReadFile(f.Prices)
	if err != nil {
		return nil, fmt.Errorf("--prices: %w", err)
	}
	table, err := prices.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("--prices: %w", err)
	}
	return table, nil
}
