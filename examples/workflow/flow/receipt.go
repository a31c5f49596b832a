package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/batchbus/batchbus/examples/workflow/tools"
	"github.com/batchbus/batchbus/pkg/events"
)

// Receipts store what was done, for ever.
type Receipts interface {
	// Get returns what stands under the key, if anything.
	Get(ctx context.Context, key string) (value []byte, found bool, err error)
	// Once stores the value unless something stands under the key, and returns what stands there then. After an error it is stored or not.
	Once(ctx context.Context, key string, value []byte) (stands []byte, err error)
}

// ErrReceipt is returned when a receipt does not fit what the bus and the input say: another input under the name of the same job, or tampering.
var ErrReceipt = errors.New("receipt does not fit")

// StageReceipt says that all rows of a stage are published and its job is sealed.
type StageReceipt struct {
	Job    string `json:"job"`
	Rows   int    `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the rows, one a line
}

// RowReceipt says what came of an answer that called tools. It is decided once.
type RowReceipt struct {
	Job      string `json:"job"`
	Stage    int    `json:"stage"`
	CustomID string `json:"custom_id"`
	Wanted   int    `json:"wanted"` // calls
	// Calls are those that were run, in order: all that were wanted, or none.
	Calls []CallReceipt `json:"calls"`
	// Capped is the cap that ended the row here; else NextSHA256 is of its row of the next stage.
	Capped     string `json:"capped,omitempty"`
	NextSHA256 string `json:"next_sha256,omitempty"`
}

// CallReceipt is one call of a tool.
type CallReceipt struct {
	Tool            string        `json:"tool"` // cut at 64 bytes
	ArgumentsSHA256 string        `json:"arguments_sha256"`
	Outcome         tools.Outcome `json:"outcome"`
	Milliseconds    int64         `json:"milliseconds"`
	ResultBytes     int           `json:"result_bytes"`
	Result          string        `json:"result"` // what the model is told
}

// results are what the model is told, a text a call.
func (r *RowReceipt) results() []string {
	texts := make([]string, len(r.Calls))
	for i, call := range r.Calls {
		texts[i] = call.Result
	}
	return texts
}

// JobName is the name of a stage's job.
func JobName(workflow string, stage int) string {
	if stage == 1 {
		return workflow
	}
	return workflow + "-" + strconv.Itoa(stage)
}

func stageKey(queue, job string, stage int) string {
	return queue + "." + job + ".stage." + strconv.Itoa(stage)
}

// rowKey has the row's token, in letters that a key may have.
func rowKey(queue, job string, stage int, customID string) string {
	return queue + "." + job + ".row." + strconv.Itoa(stage) + "." + strings.ReplaceAll(events.RowToken(customID), "~", "=")
}

// once stores a receipt and returns the one that stands.
func once[R StageReceipt | RowReceipt](ctx context.Context, receipts Receipts, key string, receipt *R) (R, error) {
	var stands R
	value, err := json.Marshal(receipt)
	if err != nil {
		return stands, fmt.Errorf("encode receipt: %w", err)
	}
	if value, err = receipts.Once(ctx, key, value); err != nil {
		return stands, fmt.Errorf("store receipt: %w", err)
	}
	return parse[R](key, value)
}

// find returns the receipt that stands, if there is one.
func find[R StageReceipt | RowReceipt](ctx context.Context, receipts Receipts, key string) (R, bool, error) {
	value, found, err := receipts.Get(ctx, key)
	if err != nil || !found {
		var none R
		return none, false, err
	}
	receipt, err := parse[R](key, value)
	return receipt, true, err
}

func parse[R StageReceipt | RowReceipt](key string, value []byte) (R, error) {
	var receipt R
	if err := json.Unmarshal(value, &receipt); err != nil {
		return receipt, fmt.Errorf("%w: %s is no receipt: %w", ErrReceipt, key, err)
	}
	return receipt, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
