package events_test

import (
	"encoding/json"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
)

func apiVector[T events.APIPayload](name string, v T) vector {
	return vector{
		name: "api_" + name, wire: events.EncodeAPI(v), means: v,
		decode: func(data []byte) (any, error) { return events.ParseAPI[T](data) },
	}
}

func apiVectors() []vector {
	ref := events.JobRef{Queue: "default", Job: "nightly"}
	done, batch := goldenJobs()["completed"], goldenBatches()["every_field"]
	status := events.JobStatus{
		Queue: "default", Job: "nightly", State: events.JobCompleted, SinceAt: at(50), OpenedAt: at(0), SealedAt: new(at(5)),
		CancelWantedAt: new(at(6)), ForgottenAt: new(at(55)), Description: "nightly <run>", InputSHA256: "e3b0c442",
		Policy: done.Policy, Hold: done.Hold, Rows: 5, ExpectedRows: new(5), Totals: done.Totals,
		Batches: []events.Batch{batch}, More: true,
	}
	listed := status
	queue := events.QueueStatus{
		Queue: "night", Policy: done.Policy, Record: json.RawMessage(`{"key":"night"}`), Fault: "none", Revision: 17, ChangedAt: new(at(3)),
	}
	listed.Batches, listed.More, listed.Hold = nil, false, nil
	return []vector{
		apiVector("ref", ref),
		apiVector("open", events.OpenJob{JobRef: ref, Window: "1h", DefaultModel: "m", Description: "<d>", InputSHA256: "e3"}),
		apiVector("seal", events.SealJob{JobRef: ref, ExpectedRows: new(0)}),
		apiVector("get", events.GetJob{JobRef: ref, After: "5-1", Limit: 10}),
		apiVector("list", events.ListJobs{Queue: "default", After: 17, Limit: 10}),
		apiVector("status", status),
		apiVector("page", events.JobList{Jobs: []events.JobStatus{listed}, Next: 18}),
		apiVector("forgotten", events.Forgotten{Queue: "default", Job: "nightly", Objects: 2, Remains: []events.RemoteBatch{
			{N: "1", ProviderBatchID: "batch-7", InputFileID: "file-1", OutputFileID: "file-2", ErrorFileID: "file-3"},
		}}),
		apiVector("end_hold", events.EndHold{JobRef: ref, N: "5-1", ProviderBatchID: "batch-7"}),
		apiVector("resume", events.ResumeJobs{JobRef: ref, Code: events.HoldCredit}),
		apiVector("estimate", events.AskEstimate{JobRef: ref, Window: "1h", Model: "m", Rows: 1, Bytes: 2, OutputTokens: 3}),
		apiVector("estimated", events.Estimated{
			Queue: "night", Job: "nightly", Limits: events.Limits{DayTokens: 5}, Groups: []events.EstimatedGroup{{
				GroupKey: events.GroupKey{Window: "24h", URL: "/v1/embeddings", Model: "m"}, Rows: 2,
				Estimate: events.Estimate{InputTokens: 7, OutputTokens: 8, OutputFrom: events.FromDefault},
				Cost:     &events.Cost{Amount: "1", Currency: "USD", Basis: "price_table"},
			}},
		}),
		apiVector("resume_allow", events.ResumeJobs{JobRef: ref, Allow: &events.Allowance{Money: 12_500_000_000_000, Tokens: 7}}),
		apiVector("resumed", events.Resumed{More: true, Holds: []events.ResumedHold{
			{Queue: "default", Job: "nightly", Code: events.HoldRowsOlder, Ended: true},
			{Queue: "default", Job: "nightly", Batch: "5-1", Code: events.HoldBusOlder, Why: "it ends by adopt or abandon"},
		}}),
		apiVector("open_policy", events.OpenJob{JobRef: ref, Policy: json.RawMessage(`{"retry":{"max_attempts":3}}`)}),
		apiVector("retries", events.JobStatus{
			Queue: "default", Job: "nightly-retry1", State: events.JobOpen, SinceAt: at(0), OpenedAt: at(0), Retries: &ref, Policy: done.Policy,
		}),
		apiVector("get_queue", events.GetQueue{Queue: "night"}),
		apiVector("put_queue", events.PutQueue{Queue: "night", Policy: json.RawMessage(`{"key":"night"}`), Revision: new(uint64(0))}),
		apiVector("list_queues", events.ListQueues{After: 17, Limit: 10}),
		apiVector("queue", queue),
		apiVector("queues", events.QueueList{Queues: []events.QueueStatus{queue}, Next: 18}),
		apiVector("retry", events.RetryJob{
			JobRef: ref, To: "again", Only: []string{events.CodeExpired}, All: true, Policy: json.RawMessage(`{"key":"night"}`), After: 17, Rows: 5,
		}),
		apiVector("retried", events.Retried{Queue: "default", Job: "nightly-retry1", Retries: ref, Rows: 5, LeftOut: 1, Next: 18}),
		apiVector("error", events.APIError{Code: events.APIUnknownJob, Message: "there is no job x"}),
	}
}

func TestAnEndpointsSubjectHasDots(t *testing.T) {
	t.Parallel()
	if got := events.APISubject(events.APIJobsOpen); got != "batchbus.api.jobs.open" {
		t.Error(got)
	}
}

func TestARequestThatIsNoJSONIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := events.ParseAPI[events.JobRef]([]byte("{")); err == nil {
		t.Error("it is read")
	}
}
