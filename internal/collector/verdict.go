package collector

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// facts is what a result takes from its batch and not from its line.
type facts struct {
	batch   *events.Batch
	now     time.Time
	prices  *prices.Table
	waiting bool // the batch ended before, and its missing rows are being waited for
}

// resultOf is the result that a line of an output file, an error file or the merged results stands for; custom_id and attempt are the
// caller's to fill in. The line must not be pending. Response is a part of the line. It is pure.
func resultOf(line *doubleword.Line, raw []byte, f facts) events.Result {
	b := f.batch
	r := events.Result{
		Queue: b.Queue, Job: b.Job, Batch: b.N, ProviderBatchID: b.ProviderBatchID, ProviderRequestID: line.ID,
		Outcome: events.Succeeded, StatusCode: line.StatusCode, Response: line.Body,
		FinishReason: line.FinishReason, Usage: usageOf(line.Usage), SubstitutedModel: substituted(line.Model, b.Model),
		Late: f.late(), CompletedAt: f.now,
	}
	r.Cost = f.prices.Cost(b.Model, b.Window, r.Usage)
	switch {
	case line.Err != nil:
		r.Outcome, r.Error = failureOf(line.Err)
		r.StatusCode = line.Err.StatusCode
	case line.Malformed:
		r.Outcome, r.Error = events.Failed, malformed(line, raw)
	default:
		r.StatusCode = cmp.Or(line.StatusCode, http.StatusOK) // the flat shape names none; a completed row's is 200 (contract 7.1)
		r.Truncated = doubleword.Truncated(*line)
	}
	return r
}

// late tells of a row that finished past its batch's deadline or after its cancel. What lay there when a cancelled batch was first found
// ended had finished before.
func (f facts) late() bool {
	return f.batch.Overdue || f.waiting && isCancelled(f.batch.Status)
}

func isCancelled(status string) bool {
	return status == doubleword.StatusCancelled || status == doubleword.StatusCancelling
}

func usageOf(u doubleword.Usage) *events.Usage {
	if !u.Present {
		return nil
	}
	return &events.Usage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
}

func substituted(answered, asked string) *string {
	if answered == "" || asked == "" || answered == asked {
		return nil
	}
	return &answered
}

// failureOf is what the failure of a line means for its row. Two kinds are about neither the row nor the model: rows that a server of the
// public shape lists beside the failures because they never ran, and what a key without credit or access makes of every row.
func failureOf(e *doubleword.LineError) (events.Outcome, *events.Error) {
	out := &events.Error{
		Code: cmp.Or(e.Code, events.CodeProvider), Message: e.Message, Retryable: e.Retryable, StatusCode: e.StatusCode, Raw: string(e.Raw),
	}
	switch {
	case e.Code == doubleword.CodeBatchExpired:
		out.Code = events.CodeExpired
		return events.Expired, out
	case e.Code == doubleword.CodeBatchCancelled:
		out.Code = events.CodeCancelled
		return events.Cancelled, out
	case e.StatusCode == http.StatusPaymentRequired:
		out.Code, out.Retryable = events.CodeOutOfCredit, true
	case e.StatusCode == http.StatusForbidden:
		out.Code, out.Retryable = events.CodeAccessLost, true
	}
	return events.Failed, out
}

func malformed(line *doubleword.Line, raw []byte) *events.Error {
	return &events.Error{
		Code: events.CodeMalformed, Message: "the provider's line has neither an answer nor an error", Retryable: true,
		StatusCode: line.StatusCode, Raw: string(raw),
	}
}

// action is what is done with a row's result.
type action int

const (
	publish     action = iota // it is the row's one result
	provisional               // the provider may still change its mind: nothing is stored
	again                     // the row gets another try in a follow-up: nothing is stored
)

// decide is the one place that says whether a result is final. A success always is. A failure is when the batch has ended; until then the
// provider may run the row again. Nor is one that the job's policy has tried again. It is pure.
func decide(r *events.Result, ended bool, policy events.Retry) action {
	switch {
	case r.Outcome == events.Succeeded:
		return publish
	case !ended:
		return provisional
	case policy.Wants(r.Outcome, r.Error, r.Attempt):
		return again
	default:
		return publish
	}
}

// absence is how a row ends that no file of its ended batch holds. It is pure.
func absence(b *doubleword.Batch) (events.Outcome, *events.Error) {
	switch {
	case isCancelled(b.Status):
		return events.Cancelled, &events.Error{
			Code: events.CodeCancelled, Message: "the batch was cancelled before the row ran", Retryable: true,
		}
	case b.Status == doubleword.StatusExpired:
		return events.Expired, &events.Error{
			Code: events.CodeExpired, Message: "the completion window ended before the row ran", Retryable: true,
		}
	case b.Status == doubleword.StatusFailed && len(b.Errors) > 0 && b.Counts.Completed+b.Counts.Failed == 0:
		return events.Failed, batchError(b.Errors)
	default:
		return events.Failed, &events.Error{
			Code: events.CodeMissingResult, Retryable: true,
			Message: "the batch ended as " + cmp.Or(b.Status, "unknown") + " and neither of its files holds the row",
		}
	}
}

// batchError is the fault of a batch that failed as a whole.
func batchError(faults []doubleword.BatchError) *events.Error {
	var messages []string
	for _, fault := range faults {
		if fault.Message != "" {
			messages = append(messages, fault.Message)
		}
	}
	return &events.Error{
		Code:    cmp.Or(faults[0].Code, events.CodeProvider),
		Message: cut(cmp.Or(strings.Join(messages, "; "), "the provider failed the batch without a message")),
	}
}

// accounted reports whether the provider's counts name no row that is not found: then it is no use to read its files again. again is how many
// rows were found to have failed and get another try. It is pure.
func accounted(counts doubleword.Counts, settled events.Totals, again int) bool {
	return settled.Succeeded+settled.Failed+again >= counts.Completed+counts.Failed
}
