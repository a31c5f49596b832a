package events

import "time"

// Policy is how a queue's jobs are run. A job keeps the snapshot that was in force when it opened.
type Policy struct {
	Window       string   `json:"window"`                  // completion window: "24h", "1h"
	Windows      []string `json:"windows"`                 // what the header Batchbus-Window may name
	DefaultModel string   `json:"default_model,omitempty"` // fills a missing body.model
	Model        string   `json:"model,omitempty"`         // replaces body.model
	// Models are the models that a row may run with, after the two above: empty allows every one.
	Models []string `json:"models,omitempty"`
	// Set are members of the body that every row gets, each "body.<path>=<value>" such as body.temperature=0, in this order: see package rows,
	// ParseSetting. They are spliced in where the model is, before a row is judged; a row's hash is of the row as it was received.
	Set       []string `json:"set,omitempty"`
	URLs      []string `json:"urls"`
	Key       string   `json:"key"` // name of the API key, a token
	OpaqueIDs bool     `json:"opaque_ids,omitempty"`

	MaxRowBytes      int   `json:"max_row_bytes"`       // one row, envelope included
	MaxRowsPerBatch  int   `json:"max_rows_per_batch"`  // rows of one input file
	MaxBytesPerBatch int64 `json:"max_bytes_per_batch"` // bytes of one input file, newlines counted
	MaxRowsPerJob    int   `json:"max_rows_per_job"`

	// Retry says which rows get another try: none in a job of the time before there was such a choice.
	Retry Retry `json:"retry,omitzero"`

	LingerSeconds int `json:"linger_seconds"` // rolling jobs: length of their time window
	// RollingRowsPerBatch and RollingBytesPerBatch cut batches of rolling jobs before their window is over; 0: as all batches.
	RollingRowsPerBatch  int   `json:"rolling_rows_per_batch,omitempty"`
	RollingBytesPerBatch int64 `json:"rolling_bytes_per_batch,omitempty"`

	// Budget is what may be spent. Its limits of a job are those of the job's own policy; those of the queue and of a day are read from the
	// queue's whenever a batch is to be sent.
	Budget Limits `json:"budget,omitzero"`

	// Priority orders the batches that wait for the provider: those with a higher one go first.
	Priority int `json:"priority,omitempty"`

	KeepRowsSeconds    int `json:"keep_rows_seconds"`    // rows are purged this long after settlement
	CancelGraceSeconds int `json:"cancel_grace_seconds"` // wait for rows that settle after a cancel
}

// Limits of the public documents (doubleword-contract.md sections 2.2 and 11), and of design.md.
const (
	DefaultMaxRowBytes      = 10 << 20
	DefaultMaxRowsPerBatch  = 50_000
	DefaultMaxBytesPerBatch = 200 << 20
	DefaultMaxRowsPerJob    = 2_000_000
	// MaxGroups is how many different (window, url, model) one job may hold.
	MaxGroups = 64
)

// DefaultPolicy is the policy of a queue that has no record.
func DefaultPolicy() Policy {
	return Policy{
		Window:  "24h",
		Windows: []string{"24h", "1h"},
		URLs: []string{
			"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages",
		},
		Key:                "default",
		MaxRowBytes:        DefaultMaxRowBytes,
		MaxRowsPerBatch:    DefaultMaxRowsPerBatch,
		MaxBytesPerBatch:   DefaultMaxBytesPerBatch,
		MaxRowsPerJob:      DefaultMaxRowsPerJob,
		Retry:              DefaultRetry(),
		LingerSeconds:      60,
		KeepRowsSeconds:    int((7 * 24 * time.Hour).Seconds()),
		CancelGraceSeconds: int(time.Hour.Seconds()),
	}
}
