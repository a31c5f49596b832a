package events

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Outcome says how a row ended.
type Outcome string

// The outcomes of a row. Each is final: a row has one result, for ever.
const (
	Succeeded Outcome = "succeeded" // the provider answered; the answer may still be truncated
	Failed    Outcome = "failed"    // the provider, or what stands in for its answer, says the row failed
	Expired   Outcome = "expired"   // the completion window ended before the row ran
	Cancelled Outcome = "cancelled" // the job was cancelled before the row ran
	Rejected  Outcome = "rejected"  // refused before money was spent: Error says why and where
)

// Result is the one answer that a row gets. It is published on [ResultSubject] with expected last subject sequence 0.
type Result struct {
	CustomID   string  `json:"custom_id"`
	Queue      string  `json:"queue"`
	Job        string  `json:"job"`
	Outcome    Outcome `json:"outcome"`
	StatusCode int     `json:"status_code"` // HTTP status of the row at the provider; 0 when it never ran
	// Response is the provider's body, byte for byte: nil when there is none. [Result.Append] splices it; never marshal a Result.
	Response     json.RawMessage `json:"response"`
	Error        *Error          `json:"error"`
	FinishReason string          `json:"finish_reason"`
	Truncated    bool            `json:"truncated"` // the model stopped for length: HTTP success is not an answer
	Usage        *Usage          `json:"usage"`
	// Batch is the number of the batch that carried the row: "1", or "5-1" for a follow-up; empty when none did.
	Batch             string    `json:"batch"`
	ProviderBatchID   string    `json:"provider_batch_id"`
	ProviderRequestID string    `json:"provider_request_id"`
	Attempt           int       `json:"attempt"` // our try number of the row, from 1; 0 when it was never sent
	Late              bool      `json:"late"`    // the row finished after its batch was cancelled or past its deadline
	SubstitutedModel  *string   `json:"substituted_model"`
	Cost              *Cost     `json:"cost"` // nil while no price is known
	CompletedAt       time.Time `json:"completed_at"`
}

// Error is why a row has no answer.
type Error struct {
	Code       string `json:"code"`                  // one of the Code constants, or the provider's own code
	Message    string `json:"message"`               // the innermost provider message, decoded, or ours
	Retryable  bool   `json:"retryable"`             // whether the same row may succeed when it is sent again
	StatusCode int    `json:"status_code,omitempty"` // HTTP status behind the failure, 0 when there was none
	Raw        string `json:"raw,omitempty"`         // the provider's error as it came
	Line       int    `json:"line,omitempty"`        // rejected rows: line in the publisher's message or file, from 1
	Column     int    `json:"column,omitempty"`      // rejected rows: byte column in that line, from 1
	Hint       string `json:"hint,omitempty"`        // rejected rows: what to do about it
}

// Usage is the count of tokens that the provider reported for a row.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
}

// Add adds other to u.
func (u *Usage) Add(other Usage) {
	u.PromptTokens += other.PromptTokens
	u.CompletionTokens += other.CompletionTokens
	u.TotalTokens += other.TotalTokens
}

// Cost is what a row cost. Amount is a decimal number as text, since money is never a float.
type Cost struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	Basis    string `json:"basis"` // "price_table"
}

// Append appends the JSON of r to dst and returns it. Response goes in byte for byte.
func (r *Result) Append(dst []byte) []byte {
	dst = appendField(dst, `{"custom_id":`, r.CustomID)
	dst = appendField(dst, `,"queue":`, r.Queue)
	dst = appendField(dst, `,"job":`, r.Job)
	dst = appendField(dst, `,"outcome":`, string(r.Outcome))
	dst = strconv.AppendInt(append(dst, `,"status_code":`...), int64(r.StatusCode), 10)
	dst = appendRaw(append(dst, `,"response":`...), r.Response)
	dst = appendSmall(append(dst, `,"error":`...), r.Error)
	dst = appendText(dst, `,"finish_reason":`, r.FinishReason)
	dst = strconv.AppendBool(append(dst, `,"truncated":`...), r.Truncated)
	dst = r.Usage.append(append(dst, `,"usage":`...))
	dst = appendText(dst, `,"batch":`, r.Batch)
	dst = appendText(dst, `,"provider_batch_id":`, r.ProviderBatchID)
	dst = appendText(dst, `,"provider_request_id":`, r.ProviderRequestID)
	dst = strconv.AppendInt(append(dst, `,"attempt":`...), int64(r.Attempt), 10)
	dst = strconv.AppendBool(append(dst, `,"late":`...), r.Late)
	dst = appendSmall(append(dst, `,"substituted_model":`...), r.SubstitutedModel)
	dst = appendSmall(append(dst, `,"cost":`...), r.Cost)
	dst = append(dst, `,"completed_at":"`...)
	dst = r.CompletedAt.UTC().AppendFormat(dst, time.RFC3339)
	return append(dst, '"', '}')
}

// ParseResult reads a result event. Response aliases nothing of data and keeps its bytes.
func ParseResult(data []byte) (Result, error) {
	var r Result
	if err := json.Unmarshal(data, &r); err != nil {
		return Result{}, fmt.Errorf("parse result: %w", err)
	}
	if string(r.Response) == "null" {
		r.Response = nil
	}
	return r, nil
}

func (u *Usage) append(dst []byte) []byte {
	if u == nil {
		return append(dst, "null"...)
	}
	dst = strconv.AppendInt(append(dst, `{"prompt_tokens":`...), u.PromptTokens, 10)
	dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), u.CompletionTokens, 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), u.TotalTokens, 10)
	return append(dst, '}')
}
