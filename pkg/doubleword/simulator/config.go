package simulator

import (
	"fmt"
	"time"
)

// Limits of the public documents and of the provider's source (doubleword-contract.md, 2.2).
const (
	documentedRows      = 50_000
	documentedFileBytes = 200 << 20
	sourceFileBytes     = 100 << 20
	defaultRowBytes     = 10 << 20
	defaultSweep        = 10 * time.Second
	unlimited           = -1
)

// Config says how one simulated provider behaves. The zero value is the provider of the public documents:
// any key, any model, 50,000 rows, 200 MiB, no delays, no failures, state in memory.
type Config struct {
	// Seed decides every answer, row failure and completion order.
	Seed uint64
	// Dir keeps files, batches, progress and ledger; New continues from it after a crash. Empty: a temporary
	// directory holds the uploaded rows and Close removes it.
	Dir string
	// Keys are the accepted bearer keys, all of one account. Empty: any non-empty key.
	Keys []string
	// MaxRows is the row limit of one file: 0 means 50,000, negative means none.
	MaxRows int
	// MaxFileBytes is the byte limit of one uploaded file: 0 means 200 MiB.
	MaxFileBytes int64
	// MaxRowBytes is the byte limit of one row's body as stored: 0 means 10 MiB.
	MaxRowBytes int
	// Models are the known models. Empty: every name but those beginning with "unknown/".
	Models []string
	// Latency passes between the creation of a batch and its first row.
	Latency time.Duration
	// RowsPerSecond is the pace of each batch; 0 means as fast as possible.
	RowsPerSecond float64
	// FailureRate is the share of rows, 0 to 1, that fail; seed and row choose them.
	FailureRate float64
	// Windows are the accepted completion windows, Go durations as text. Empty: 24h and 1h.
	Windows []string
	// Prices are what models cost, by name. Every other one costs USD 0.05 for a million tokens of input and 0.20 of output.
	Prices map[string]Price
	// SweepInterval is how long after its last row a batch that nobody reads by id shows "finalizing";
	// 0 means the source's 10 seconds.
	SweepInterval time.Duration
	// Dialect is whose API is spoken: Doubleword's, or plain OpenAI's.
	Dialect Dialect
	// Faults is what goes wrong, and when.
	Faults []Fault
}

// SourceLimits returns a Config with the limits that the provider's source has by default: 100 MiB a file,
// any number of rows, 10 MiB a row's body, and only the 24h window.
func SourceLimits() Config {
	return Config{MaxRows: unlimited, MaxFileBytes: sourceFileBytes, MaxRowBytes: defaultRowBytes, Windows: []string{"24h"}}
}

// withDefaults fills what was left zero and refuses what cannot work.
func (c Config) withDefaults() (Config, error) {
	if c.MaxRows == 0 {
		c.MaxRows = documentedRows
	}
	if c.MaxFileBytes == 0 {
		c.MaxFileBytes = documentedFileBytes
	}
	if c.MaxRowBytes == 0 {
		c.MaxRowBytes = defaultRowBytes
	}
	if c.SweepInterval == 0 {
		c.SweepInterval = defaultSweep
	}
	if len(c.Windows) == 0 {
		c.Windows = []string{"24h", "1h"}
	}
	return c, c.check()
}

func (c Config) check() error {
	if err := c.checkPrices(); err != nil {
		return err
	}
	for _, w := range c.Windows {
		if _, err := time.ParseDuration(w); err != nil {
			return fmt.Errorf("parse completion window %q: %w", w, err)
		}
	}
	switch {
	case c.FailureRate < 0 || c.FailureRate > 1:
		return fmt.Errorf("failure rate %v: must be 0 to 1", c.FailureRate)
	case c.RowsPerSecond < 0:
		return fmt.Errorf("rows per second %v: must not be negative", c.RowsPerSecond)
	case c.Latency < 0:
		return fmt.Errorf("latency %v: must not be negative", c.Latency)
	case c.MaxFileBytes < 0 || c.MaxRowBytes < 0:
		return fmt.Errorf("byte limits %d and %d: must not be negative", c.MaxFileBytes, c.MaxRowBytes)
	}
	if err := c.Dialect.check(); err != nil {
		return err
	}
	for _, f := range c.Faults {
		if err := f.check(); err != nil {
			return err
		}
	}
	return nil
}

// endpoints are the provider's default allow-list of row urls and batch endpoints.
func endpoints() []string {
	return []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages"}
}
