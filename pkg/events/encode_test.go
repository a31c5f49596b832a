package events_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/events"
)

// anyText draws text that may hold what is hard to encode, invalid UTF-8 included.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", "\u2028\u2029", "<>&", "\x00\x1f\x7f", `"\`, "\xff", "\xed\xa0\x80", "\ufffd", "a\xc3"}),
	)
}

func TestAppendStringMeansWhatEncodingJSONMeans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, before := anyText().Draw(t, "s"), []byte("x")
		got := events.AppendString(before, s)[1:]
		reference, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var have, want string
		if err := json.Unmarshal(got, &have); err != nil {
			t.Fatalf("%q is no JSON: %v", got, err)
		}
		if err := json.Unmarshal(reference, &want); err != nil || have != want {
			t.Fatalf("%q means %q, want %q (%v)", got, have, want, err)
		}
	})
}

func TestAppendStringEscapesNothingNeedlessly(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"<>&\u2028\u2029é\x7f": "\"<>&\u2028\u2029é\x7f\"",
		"a\"b\\c":              `"a\"b\\c"`,
		"\n\r\t\b\x00\x1f":     `"\n\r\t\u0008\u0000\u001f"`,
	} {
		if got := string(events.AppendString(nil, s)); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

func anyError() *rapid.Generator[*events.Error] {
	return rapid.Ptr(rapid.Custom(func(t *rapid.T) events.Error {
		return events.Error{
			Code: anyText().Draw(t, "code"), Message: anyText().Draw(t, "message"), Retryable: rapid.Bool().Draw(t, "retryable"),
			StatusCode: rapid.IntRange(0, 599).Draw(t, "status"), Raw: anyText().Draw(t, "raw"), Hint: anyText().Draw(t, "hint"),
			Line: rapid.IntRange(0, 1<<40).Draw(t, "line"), Column: rapid.IntRange(0, 1<<40).Draw(t, "column"),
		}
	}), true)
}

func anyResult(t *rapid.T) events.Result {
	text := anyText()
	responses := []json.RawMessage{
		nil, json.RawMessage(`{}`), json.RawMessage(`{"a":[1e5,123456789012345678901234567890,-0.0]}`), json.RawMessage(`"<>&"`),
	}
	return events.Result{
		CustomID: text.Draw(t, "custom_id"), Queue: text.Draw(t, "queue"), Job: text.Draw(t, "job"),
		Outcome:    rapid.SampledFrom([]events.Outcome{events.Succeeded, events.Failed, events.Rejected}).Draw(t, "outcome"),
		StatusCode: rapid.Int().Draw(t, "status"), Response: rapid.SampledFrom(responses).Draw(t, "response"),
		Error: anyError().Draw(t, "error"), FinishReason: text.Draw(t, "finish"), Truncated: rapid.Bool().Draw(t, "truncated"),
		Usage: rapid.Ptr(rapid.Custom(func(t *rapid.T) events.Usage {
			return events.Usage{PromptTokens: rapid.Int64().Draw(t, "p"), CompletionTokens: rapid.Int64().Draw(t, "c"), TotalTokens: 7}
		}), true).Draw(t, "usage"),
		Batch: text.Draw(t, "batch"), ProviderBatchID: text.Draw(t, "provider_batch"), ProviderRequestID: text.Draw(t, "request"),
		Attempt: rapid.Int().Draw(t, "attempt"), Late: rapid.Bool().Draw(t, "late"),
		SubstitutedModel: rapid.Ptr(text, true).Draw(t, "model"),
		Cost: rapid.Ptr(rapid.Custom(func(t *rapid.T) events.Cost {
			return events.Cost{Amount: text.Draw(t, "amount"), Currency: "USD", Basis: "price_table"}
		}), true).Draw(t, "cost"),
		CompletedAt: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "at"), 0).UTC(),
	}
}

// fields decodes an object without losing a digit. Texts that a result leaves null come back as "", as encoding/json writes them.
func fields(t *rapid.T, data []byte) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var m map[string]any
	if err := decoder.Decode(&m); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	for _, name := range []string{"finish_reason", "batch", "provider_batch_id", "provider_request_id"} {
		if value, there := m[name]; there && value == nil {
			m[name] = ""
		}
	}
	return m
}

func TestAResultMeansWhatEncodingJSONWouldWrite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := anyResult(t)
		reference, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		got, want := fields(t, r.Append(nil)), fields(t, reference)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
		if names := slices.Sorted(maps.Keys(got)); len(names) != reflect.TypeFor[events.Result]().NumField() {
			t.Fatalf("fields %v: a field of Result is missing", names)
		}
	})
}

func TestAResponseCrossesTheBusByteForByte(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]string{
		"white space":      "{ \"a\" :\t1 ,\r\n \"b\": [ ] }",
		"raw separators":   "\"\u2028\u2029\"",
		"HTML":             `"<script>&amp;</script>"`,
		"escapes":          `"\u003c\/\ud83d\ude00\u0000"`,
		"numbers":          `[1e5,1E+05,0.10,-0,123456789012345678901234567890,1e400]`,
		"duplicate names":  `{"a":1,"a":2}`,
		"two megabytes":    `"` + strings.Repeat("é", 1<<20) + `"`,
		"a lone surrogate": `"\ud83d"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := events.Result{Response: json.RawMessage(response)}
			wire := r.Append([]byte("head"))
			if !bytes.Contains(wire, []byte(`"response":`+response+`,"error"`)) {
				t.Fatal("the response was changed on its way out")
			}
			got, err := events.ParseResult(wire[len("head"):])
			if err != nil || string(got.Response) != response {
				t.Fatalf("the response was changed on its way in: %v", err)
			}
			clear(wire)
			if string(got.Response) != response {
				t.Fatal("the response aliases the message")
			}
		})
	}
}

func TestNoResponseIsNullHoweverItIsSaid(t *testing.T) {
	t.Parallel()
	for _, none := range []json.RawMessage{nil, {}} {
		r := events.Result{Response: none}
		got, err := events.ParseResult(r.Append(nil))
		if err != nil || got.Response != nil {
			t.Errorf("%#v came back as %#v, %v", none, got.Response, err)
		}
	}
}

func TestAResultOfOneAnswerIsRenderedWithoutAllocating(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts everybody's
	results := goldenResults()
	r := results["succeeded"]
	r.Cost = nil
	buffer := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { buffer = r.Append(buffer[:0]) }); n > 0 {
		t.Errorf("an answer with usage costs %v allocations, want none", n)
	}
	failed := results["failed"]
	if n := testing.AllocsPerRun(100, func() { buffer = failed.Append(buffer[:0]) }); n > 10 {
		t.Errorf("an error costs %v allocations, want at most 10", n)
	}
}

func TestADeadLettersPayloadCrossesTheBusByteForByte(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := events.DeadLetter{Code: events.DLEmpty, Payload: []byte(anyText().Draw(t, "payload"))}
		got, err := events.ParseDeadLetter(d.Append(nil))
		if err != nil || !bytes.Equal(got.Payload, d.Payload) || got.Code != d.Code {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
}

func FuzzParseResult(f *testing.F) {
	for _, r := range goldenResults() {
		f.Add(r.Append(nil))
	}
	f.Add([]byte(`{"response":null,"completed_at":"0001-01-01T00:00:00.5+23:00"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := events.ParseResult(data)
		if err != nil || r.CompletedAt.UTC().Year() < 0 || r.CompletedAt.UTC().Year() > 9999 {
			return
		}
		again, err := events.ParseResult(r.Append(nil))
		if err != nil {
			t.Fatalf("what was parsed cannot be published: %v", err)
		}
		if !bytes.Equal(again.Response, r.Response) {
			t.Fatalf("response %q became %q", r.Response, again.Response)
		}
		again.CompletedAt, r.CompletedAt = time.Time{}, time.Time{}
		if !reflect.DeepEqual(again, r) {
			t.Fatalf("%+v became %+v", r, again)
		}
	})
}
