package events_test

import (
	"encoding/json"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

func at(minute int) time.Time { return time.Date(2026, 11, 30, 2, minute, 9, 0, time.UTC) }

func goldenResults() map[string]events.Result {
	answered := events.Result{
		CustomID: "case-001", Queue: "default", Job: "nightly", Outcome: events.Succeeded, StatusCode: 200,
		Response:     json.RawMessage("{\"id\": \"x\",  \"n\":1e5,\"html\":\"<>&\u2028\"}"),
		FinishReason: "stop", Usage: &events.Usage{PromptTokens: 42, CompletionTokens: 128, TotalTokens: 170},
		Batch: "1", ProviderBatchID: "batch-7", ProviderRequestID: "req-9", Attempt: 1,
		Cost: &events.Cost{Amount: "0.000123", Currency: "USD", Basis: "price_table"}, CompletedAt: at(11),
	}
	cut := answered
	cut.CustomID, cut.FinishReason, cut.Truncated, cut.Late = "naïve id", "length", true, true
	cut.SubstitutedModel, cut.Cost, cut.Batch, cut.Attempt = new("other-model"), nil, "5-1", 2
	return map[string]events.Result{
		"succeeded": answered, "truncated": cut,
		"failed": {
			CustomID: "case-002", Queue: "default", Job: "nightly", Outcome: events.Failed, StatusCode: 429,
			Response: json.RawMessage(`{"error":{"message":"slow down"}}`),
			Error: &events.Error{
				Code: "rate_limit", Message: "slow down", Retryable: true, StatusCode: 429, Raw: `{"message":"slow down"}`,
			},
			Batch: "1", ProviderBatchID: "batch-7", ProviderRequestID: "req-10", Attempt: 3, CompletedAt: at(12),
		},
		"rejected": {
			CustomID: "case-003", Queue: "default", Job: "nightly", Outcome: events.Rejected,
			Error:       &events.Error{Code: "missing_model", Message: "the body has no model", Line: 3, Column: 17, Hint: "name a model"},
			CompletedAt: at(1),
		},
		"expired": {
			CustomID: "case-004", Queue: "default", Job: "nightly", Outcome: events.Expired,
			Error: &events.Error{Code: events.CodeExpired, Message: "the window ended", Retryable: true},
			Batch: "1", ProviderBatchID: "batch-7", Attempt: 1, CompletedAt: at(59),
		},
		"cancelled": {
			CustomID: "case-005", Queue: "default", Job: "nightly", Outcome: events.Cancelled,
			Error: &events.Error{Code: events.CodeCancelled, Message: "the job was cancelled"}, CompletedAt: at(2),
		},
	}
}

func goldenDeadLetters() map[string]events.DeadLetter {
	text := events.DeadLetter{
		Code: events.DLConflict, Message: "another row has this custom_id", Hint: "give each row its own id", CustomID: "case-001",
		Queue: "default", Job: "nightly", Source: "00112233445566778899aabbccddeeff",
		Subject: "batchbus.requests.default.nightly", Sequence: 71, Line: 3, Column: 17,
		First: &events.Origin{Sequence: 70, Line: 1}, At: at(3), Payload: []byte("{\"custom_id\":\"case-001\"}\t<>&\u2028\x00"),
	}
	binary := events.DeadLetter{
		Code: "invalid_utf8", Message: "byte 1 is no UTF-8", Queue: "default", Job: "auto-20261130T021100Z-60",
		Source: "ffeeddccbbaa99887766554433221100", Subject: "batchbus.requests.default", Sequence: 72, Line: 1,
		At: at(4), Payload: []byte{'{', 0xff, 0xfe, '}'},
	}
	return map[string]events.DeadLetter{"text": text, "binary": binary}
}

func goldenJobs() map[string]events.Job {
	open := events.Job{
		Queue: "default", Job: "nightly", State: events.JobOpen, SinceAt: at(0), OpenedAt: at(0),
		Description: "nightly <run>", InputSHA256: "e3b0c442", Policy: events.DefaultPolicy(),
	}
	retrying := open
	open.Policy.Retry = events.Retry{}
	linked := retrying
	linked.Retries = &events.JobRef{Queue: "default", Job: "weekly"}
	done := open
	done.State, done.SinceAt = events.JobCompleted, at(50)
	done.Walked = events.Place{Sequence: 12, At: at(5)}
	done.Groups = []events.Group{{GroupKey: group(), Cut: events.RowPlace{Sequence: 11, Index: 3}}}
	done.Batches, done.FollowUps, done.Rows, done.Rejected, done.CancelledRows = 2, 1, 5, 1, 1
	done.ExpectedRows, done.SealedAt, done.CancelWanted = new(5), new(at(5)), new(at(6))
	done.Hold = &events.Hold{Code: events.HoldRowsOlder, Message: "ROWS lacks block 4", At: at(7)}
	done.Totals = &events.Totals{
		Rows: 5, Succeeded: 1, Failed: 1, Expired: 1, Cancelled: 1, Rejected: 1, Truncated: 1,
		Usage: events.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3},
	}
	return map[string]events.Job{"open": open, "completed": done, "retry": retrying, "retries": linked}
}

func group() events.GroupKey {
	return events.GroupKey{Window: "24h", URL: "/v1/chat/completions", Model: "model-a"}
}

func goldenBatches() map[string]events.Batch {
	planned := events.Batch{
		Queue: "default", Job: "nightly", N: "1", State: events.BatchPlanned, SinceAt: at(5), GroupKey: group(), Key: "default",
		Rows: 2, Bytes: 345, Manifest: events.ObjectRef{Name: "KV_batchbus_jobs/x/y", Digest: "SHA-256=abc", Size: 100}, Digest: "d1",
	}
	running := planned
	running.N, running.Parent, running.LineRefusals, running.OpaqueIDs, running.Organization = "1-1", "1", 1, true, "org"
	running.State, running.Attempt, running.FileID, running.Owner = events.BatchSubmitted, 2, "file-1", "owner-1"
	running.ProviderBatchID, running.Fenced, running.Status = "batch-7", true, "in_progress"
	running.Counts = events.Counts{Total: 2, Completed: 1, Failed: 1}
	running.RatePerSec, running.ETAAt = 0.5, new(at(40))
	running.OutputFileID, running.ErrorFileID = "file-2", "file-3"
	running.SubmittedAt, running.ExpiresAt, running.FinishedAt = new(at(6)), new(at(30)), new(at(29))
	running.PolledAt, running.NextPollAt, running.UnknownSince = new(at(7)), new(at(8)), new(at(9))
	running.Why, running.NextTryAt, running.LastError = "waiting for a slot", new(at(10)), "429"
	running.Hold, running.Overdue = &events.Hold{Code: events.HoldCredit, Message: "402", At: at(8)}, true
	running.FollowUps, running.Totals = []string{"1-1-1"}, &events.Totals{Rows: 1, Succeeded: 1}
	wished := planned
	wished.Hold = &events.Hold{Code: events.HoldBusOlder, Message: "other rows", At: at(8)}
	wished.Wish = &events.Wish{Kind: events.WishAdopt, ProviderBatchID: "batch-8", Hold: events.HoldBusOlder, At: at(9)}
	wished.ForeignDigest, wished.Abandoned = "d2", []string{"batch-7"}
	polled := planned
	polled.State, polled.RatePerSec, polled.RateSince, polled.ProgressAt = events.BatchSubmitted, 0.5, new(at(5)), new(at(7))
	polled.UnknownSince, polled.Unanswered = new(at(8)), 3
	return map[string]events.Batch{
		"planned": planned, "every_field": running, "wished": wished, "polled": polled, "limited": limitedBatch(planned),
	}
}

func goldenCursor() events.Cursor {
	settled := events.NewBits(10)
	settled.Set(0)
	settled.Set(9)
	return events.Cursor{OutputLines: 3, ErrorLines: 1, Settled: settled, Totals: events.Totals{Rows: 2, Succeeded: 1, Failed: 1}}
}

func goldenBudget() events.Budget {
	return events.Budget{Queue: "default", Holds: []events.QueueHold{
		{Key: "main", Hold: events.Hold{Code: events.HoldCredit, Message: "status 402: \"<balance>\"", At: at(6)}},
		{Hold: events.Hold{Code: "later", Message: "of all keys", At: at(7)}},
	}}
}

func goldenEvents() map[string]events.Event {
	job, batch := goldenJobs()["open"], goldenBatches()["planned"]
	return map[string]events.Event{
		"job": {ID: "0-0", Kind: events.JobOpened, At: at(0), Queue: "default", Job: "nightly", JobState: &job},
		"batch": {
			ID: "1-17", Kind: events.BatchIsPlanned, At: at(5), Queue: "default", Job: "nightly", Batch: "1", BatchState: &batch,
		},
		"queue": {
			ID: "0-19", Kind: events.QueueHeld, At: at(6), Queue: "default", Job: events.NoJob, BudgetState: new(goldenBudget()), Note: "batch 1 of job nightly was refused",
		},
		"note": {
			ID: "5-1-18", Kind: events.BatchOrphan, At: at(9), Queue: "default", Job: "nightly", Batch: "5-1", Note: "provider batch b-3",
		},
	}
}
