package events

import "slices"

// Retry says which rows that would end without an answer get another try, in a follow-up batch. Whoever reads results sees one final
// result per row all the same, with the number of its attempt.
type Retry struct {
	// On names what is tried again: any of the Retry constants. A permanent error never is, whatever stands here.
	On []string `json:"on"`
	// MaxAttempts is how often a row is sent in all. 0 and 1: once.
	MaxAttempts int `json:"max_attempts"`
}

// What a retry policy may name.
const (
	RetryFailed        = "failed"          // a failure whose error is retryable, other than the two below
	RetryMissingResult = CodeMissingResult // the batch ended and neither file holds the row
	RetryExpired       = "expired"         // the completion window ended before the row ran
	RetryCancelled     = "cancelled"       // the batch was cancelled at the provider before the row ran, and not because the job was
)

// DefaultRetry gives rows that never got an answer a second chance. Retryable failures are left out: the provider has repeated those
// by itself until the deadline (doubleword-contract.md, 5.3).
func DefaultRetry() Retry {
	return Retry{On: []string{RetryMissingResult, RetryExpired}, MaxAttempts: 2}
}

// Wants reports whether a row that would end with this outcome and error after its attempt-th try is tried again instead. It is pure.
func (r Retry) Wants(outcome Outcome, reason *Error, attempt int) bool {
	if attempt >= r.MaxAttempts || reason != nil && !reason.Retryable {
		return false
	}
	return slices.Contains(r.On, retryName(outcome, reason))
}

// retryName is the word of a policy for how a row would end; empty for what no policy may repeat.
func retryName(outcome Outcome, reason *Error) string {
	switch {
	case outcome == Failed && reason != nil && reason.Code == CodeMissingResult:
		return RetryMissingResult
	case outcome == Failed && reason != nil:
		return RetryFailed
	case outcome == Expired, outcome == Cancelled:
		return string(outcome)
	default:
		return ""
	}
}
