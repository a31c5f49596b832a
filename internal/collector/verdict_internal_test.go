package collector

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestResultOfEachShapeOfLine(t *testing.T) {
	t.Parallel()
	other := "other"
	for name, c := range map[string]struct {
		line string
		want events.Result
	}{
		"a nested answer": {
			line: `{"id":"r","custom_id":"0~","response":{"status_code":200,"body":{"model":"m","choices":[{"finish_reason":"stop"}],"usage":` +
				`{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}},"error":null}`,
			want: events.Result{
				Outcome: events.Succeeded, StatusCode: 200, FinishReason: "stop", Usage: &events.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3},
				Response: json.RawMessage(`{"model":"m","choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`),
			},
		},
		"a flat answer": {
			line: `{"id":"r","custom_id":"0~","response_body":{"a":1},"status":"completed"}`,
			want: events.Result{Outcome: events.Succeeded, StatusCode: 200, Response: json.RawMessage(`{"a":1}`)},
		},
		"an answer cut for length": {
			line: `{"id":"r","response":{"status_code":200,"body":{"choices":[{"finish_reason":"length","message":{"content":""}}]}}}`,
			want: events.Result{
				Outcome: events.Succeeded, StatusCode: 200, FinishReason: "length", Truncated: true,
				Response: json.RawMessage(`{"choices":[{"finish_reason":"length","message":{"content":""}}]}`),
			},
		},
		"an answer of another model": {
			line: `{"id":"r","response":{"status_code":200,"body":{"model":"other"}}}`,
			want: events.Result{Outcome: events.Succeeded, StatusCode: 200, SubstitutedModel: &other, Response: json.RawMessage(`{"model":"other"}`)},
		},
		"an answer that is a string": {
			line: `{"id":"r","response":{"status_code":200,"body":"data: x\n"}}`,
			want: events.Result{Outcome: events.Succeeded, StatusCode: 200, Response: json.RawMessage(`"data: x\n"`)},
		},
		"a null answer": {
			line: `{"id":"r","response":{"status_code":200,"body":null},"error":null}`,
			want: events.Result{Outcome: events.Failed, StatusCode: 200, Error: &events.Error{
				Code: "malformed_result", Message: "the provider's line has neither an answer nor an error", Retryable: true, StatusCode: 200,
				Raw: `{"id":"r","response":{"status_code":200,"body":null},"error":null}`,
			}},
		},
		"neither response nor error": {
			line: `{"id":"r","custom_id":"0~"}`,
			want: events.Result{Outcome: events.Failed, Error: &events.Error{
				Code: "malformed_result", Message: "the provider's line has neither an answer nor an error", Retryable: true, Raw: `{"id":"r","custom_id":"0~"}`,
			}},
		},
		"a refusal in the response, error null": {
			line: `{"id":"r","response":{"status_code":400,"body":{"error":{"message":"no","code":"unsupported_parameter"}}},"error":null}`,
			want: events.Result{
				Outcome: events.Failed, StatusCode: 400, Response: json.RawMessage(`{"error":{"message":"no","code":"unsupported_parameter"}}`),
				Error: &events.Error{
					Code: "unsupported_parameter", Message: "no", StatusCode: 400, Raw: `{"message":"no","code":"unsupported_parameter"}`,
				},
			},
		},
		"an error in layers of JSON in strings": {
			line: `{"id":"r","response":null,"error":{"code":null,"message":"{\"type\":\"RetriableHttpStatus\",\"details\":{\"status\":503,\"body\":\"busy\"}}"}}`,
			want: events.Result{Outcome: events.Failed, StatusCode: 503, Error: &events.Error{
				Code: "RetriableHttpStatus", Message: "busy", Retryable: true, StatusCode: 503,
				Raw: `{"code":null,"message":"{\"type\":\"RetriableHttpStatus\",\"details\":{\"status\":503,\"body\":\"busy\"}}"}`,
			}},
		},
		"an error without a code": {
			line: `{"id":"r","response":null,"error":"Unknown error"}`,
			want: events.Result{Outcome: events.Failed, Error: &events.Error{
				Code: "provider_error", Message: "Unknown error", Retryable: true, Raw: `"Unknown error"`,
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(1, 0).UTC()
			line, err := doubleword.ParseLine([]byte(c.line))
			if err != nil {
				t.Fatal(err)
			}
			b := &events.Batch{Queue: "q", Job: "j", N: "1", ProviderBatchID: "remote", GroupKey: events.GroupKey{Model: "m"}}
			got := resultOf(&line, []byte(c.line), facts{batch: b, now: now})
			c.want.Queue, c.want.Job, c.want.Batch, c.want.ProviderBatchID = "q", "j", "1", "remote"
			c.want.ProviderRequestID, c.want.CompletedAt = "r", now
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %s\nwant %s", got.Append(nil), c.want.Append(nil))
			}
		})
	}
}

func TestLateness(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		batch   events.Batch
		waiting bool
		want    bool
	}{
		"in time":                               {batch: events.Batch{Status: "completed"}},
		"past the deadline":                     {batch: events.Batch{Status: "in_progress", Overdue: true}, want: true},
		"there when the cancel was first seen":  {batch: events.Batch{Status: "cancelled"}},
		"came after the cancel":                 {batch: events.Batch{Status: "cancelled"}, waiting: true, want: true},
		"looked for again in a completed batch": {batch: events.Batch{Status: "completed"}, waiting: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (facts{batch: &c.batch, waiting: c.waiting}).late(); got != c.want {
				t.Errorf("late is %v", got)
			}
		})
	}
}

func TestOnlyAFailureOfARunningBatchIsProvisional(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcome events.Outcome
		ended   bool
		want    action
	}{
		{events.Succeeded, false, publish},
		{events.Succeeded, true, publish},
		{events.Failed, false, provisional},
		{events.Failed, true, publish},
	} {
		if got := decide(&events.Result{Outcome: c.outcome}, c.ended, events.Retry{}); got != c.want {
			t.Errorf("%s, ended %v: %v", c.outcome, c.ended, got)
		}
	}
}

func TestAbsenceBeyondTheServiceTests(t *testing.T) {
	t.Parallel()
	ran := doubleword.Batch{Status: "failed", Counts: doubleword.Counts{Failed: 1}, Errors: []doubleword.BatchError{{Message: "x"}}}
	if _, e := absence(&ran); e.Code != events.CodeMissingResult {
		t.Errorf("a batch of which rows ran has the batch's error: %+v", e)
	}
	if _, e := absence(&doubleword.Batch{}); e.Code != events.CodeMissingResult || !e.Retryable {
		t.Errorf("unknown status: %+v", e)
	}
	several := doubleword.Batch{Status: "failed", Errors: []doubleword.BatchError{{Message: "x"}, {}, {Message: "y"}}}
	if _, e := absence(&several); e.Message != "x; y" || e.Code != events.CodeProvider || e.Retryable {
		t.Errorf("several errors: %+v", e)
	}
}

func TestTheCursorAdvancesByLinesReceived(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reading reading
		want    int
	}{
		"from the start":                           {reading{received: 7}, 7},
		"from the cursor":                          {reading{skip: 10, received: 7}, 17},
		"nothing new":                              {reading{skip: 10}, 10},
		"the server ignored the cursor":            {reading{skip: 10, received: 17, repeats: 10, again: true}, 17},
		"it did, and some lines had no result":     {reading{skip: 10, received: 17, repeats: 7, again: true}, 17},
		"a row surfaced behind the cursor":         {reading{skip: 10, received: 7, repeats: 1, again: true}, 17},
		"a repeat that is not the first":           {reading{skip: 10, received: 7, repeats: 6}, 17},
		"the server ignored it and broke off soon": {reading{skip: 10, received: 3, repeats: 3, again: true}, 13},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.reading.lines(); got != c.want {
				t.Errorf("%d lines, want %d", got, c.want)
			}
		})
	}
}

func TestABodyIsFoundInTheFirstBytesOfALine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, want string }{
		{`{"id":"a","custom_id":"b","response":{"status_code":200,"body":{"x":`, `{"x":`},
		{`{"response":{"headers":{"body":"no"},"body" : "te`, `"te`},
		{`{"body":{"no":1},"response_body": [1,`, `[1,`},
		{`{"response":{"body":null`, ""},
		{`{"id":"a","input_body":{"x":`, ""},
		{`nonsense`, ""},
		{``, ""},
	} {
		at, ok := bodyStart([]byte(c.prefix))
		if ok != (c.want != "") || ok && c.prefix[at:] != c.want {
			t.Errorf("%s: found %v at %d", c.prefix, ok, at)
		}
	}
}

func TestAValueIsPassedOnWholeAndNothingBehindIt(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`{}`, `{"a":[{"b":"}]\"\\"}],"c":"\\"}`, `[[],{}]`, `"a\"}b"`, `""`} {
		for name, r := range map[string]io.Reader{
			"at once":      strings.NewReader(value + `},"error":null}`),
			"byte by byte": iotest.OneByteReader(strings.NewReader(value + `},"error":null}`)),
		} {
			got, err := io.ReadAll(&valueReader{r: r})
			if err != nil || string(got) != value {
				t.Errorf("%s %s: got %s, %v", value, name, got, err)
			}
		}
		cut := &valueReader{r: strings.NewReader(value[:len(value)-1])}
		if _, err := io.ReadAll(cut); err == nil || cut.broken == nil {
			t.Errorf("%s: a cut value is no error", value)
		}
	}
}

func TestHintsForABusyBatchCoalesce(t *testing.T) {
	t.Parallel()
	k := kicks{busy: map[batchID]bool{}}
	id := batchID{"q", "j", "1"}
	if !k.begin(id) || k.begin(id) || k.begin(id) {
		t.Fatal("a batch was collected twice at once")
	}
	if !k.again(id) || k.again(id) {
		t.Fatal("two hints are not one more round")
	}
	if !k.begin(id) {
		t.Fatal("the batch was not given up")
	}
	k.drop(id)
	if !k.begin(id) {
		t.Fatal("the batch was not dropped")
	}
}

func TestTheBatchOfAnEvent(t *testing.T) {
	t.Parallel()
	kind, id, ok := batchOf("batchbus.events.batch.finished.q.j.5-1-77")
	if !ok || kind != events.BatchIsFinished || id != (batchID{"q", "j", "5-1"}) {
		t.Errorf("got %s %v %v", kind, id, ok)
	}
	for _, subject := range []string{"batchbus.events.batch.finished.q.j", "batchbus.events.batch.finished.q.j.5", "x"} {
		if _, _, ok := batchOf(subject); ok {
			t.Errorf("%s is no batch's event", subject)
		}
	}
}
