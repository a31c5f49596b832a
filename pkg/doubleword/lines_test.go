package doubleword_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

const (
	chatBody   = `{"choices": [{"finish_reason":"length","index":0,"message":{"content":"<a>&\u00e9 9007199254740993 1.0","usage":{"prompt_tokens":9}}},{"finish_reason":"stop"}],"model":"m-2","usage":{"completion_tokens":128,"prompt_tokens":42,"total_tokens":170}}`
	nestedLine = `{"id":"batch_req_1","custom_id":"a","response":{"status_code":200,"request_id":"r","body":` + chatBody + `},"error":null}`
	flatLine   = `{"id":"req-abc","custom_id":"a","model":"asked","input_body":{"model":"x"},"response_body": ` + chatBody + ` ,"error":null,"status":"completed"}`
	threeDeep  = `{"id":"batch_req_2","custom_id":"a","response":null,"error":{"code":null,"message":"{\"type\":\"NonRetriableHttpStatus\",\"details\":{\"status\":400,\"body\":\"{\\\"error\\\":{\\\"message\\\":\\\"bad \\\\u003cthing\\\\u003e\\\",\\\"type\\\":\\\"invalid_request_error\\\",\\\"param\\\":null,\\\"code\\\":\\\"unsupported_parameter\\\"}}\"}}"}}`
)

func mustParse(t *testing.T, line string) doubleword.Line {
	t.Helper()
	l, err := doubleword.ParseLine([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return l
}

func TestAnswersOfBothShapesKeepTheirBytes(t *testing.T) {
	t.Parallel()
	for _, line := range []string{nestedLine, flatLine} {
		l := mustParse(t, line)
		if string(l.Body) != chatBody || l.CustomID != "a" || !l.HasCustomID || l.Err != nil || l.Malformed {
			t.Errorf("%+v\nbody %s", l, l.Body)
		}
		if l.Model != "m-2" || l.FinishReason != "length" || !doubleword.Truncated(l) || l.Usage != (doubleword.Usage{PromptTokens: 42, CompletionTokens: 128, TotalTokens: 170, Present: true}) {
			t.Errorf("facts %q %q %+v", l.Model, l.FinishReason, l.Usage)
		}
	}
	if l := mustParse(t, nestedLine); l.StatusCode != 200 || l.RequestID != "r" || l.ID != "batch_req_1" {
		t.Errorf("%+v", l)
	}
	if l := mustParse(t, flatLine); l.StatusCode != 0 || l.ID != "req-abc" || l.Status != "completed" {
		t.Errorf("%+v", l)
	}
}

func TestBodyIsAPartOfTheLine(t *testing.T) {
	t.Parallel()
	line := []byte(nestedLine)
	l, err := doubleword.ParseLine(line)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(line, []byte(chatBody))
	if &l.Body[0] != &line[at] || cap(l.Body) != len(l.Body) {
		t.Error("the body is a copy, or can be appended to")
	}
}

func TestFactsOfEveryURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body, finish string
		usage              doubleword.Usage
		truncated          bool
	}{
		{"chat", `{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":4}}`, "stop", doubleword.Usage{1, 2, 4, true}, false},
		{"chat without a reason", `{"choices":[{"finish_reason":null}],"usage":null}`, "", doubleword.Usage{}, false},
		{"responses", `{"status":"completed","incomplete_details":null,"usage":{"input_tokens":1,"output_tokens":2,"input_tokens_details":{"total_tokens":99}}}`, "completed", doubleword.Usage{1, 2, 3, true}, false},
		{"responses cut", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`, "max_output_tokens", doubleword.Usage{}, true},
		{"messages", `{"stop_reason":"max_tokens","usage":{"input_tokens":"5","output_tokens":6.0}}`, "max_tokens", doubleword.Usage{5, 6, 11, true}, true},
		{"embeddings", `{"data":[{"embedding":[0.1]}],"usage":{"prompt_tokens":7,"total_tokens":7}}`, "", doubleword.Usage{7, 0, 7, true}, false},
		{"no choices", `{"choices":[],"usage":{}}`, "", doubleword.Usage{}, false},
		{"choices of another kind", `{"choices":[1,{"finish_reason":"length"}],"usage":[1],"model":7,"incomplete_details":"x"}`, "", doubleword.Usage{}, false},
		{"an escaped name", `{"choices":[{"finish\u005freason":"length"}]}`, "length", doubleword.Usage{}, true},
		{"a text", `"data: {\"x\":1}\n\n"`, "", doubleword.Usage{}, false},
		{"a lone surrogate and bytes that are no UTF-8", "{\"a\":\"\\ud800\xff\",\"a\":1}", "", doubleword.Usage{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := mustParse(t, `{"custom_id":"a","response":{"status_code":200,"body":`+c.body+`}}`)
			if string(l.Body) != c.body || l.FinishReason != c.finish || l.Usage != c.usage || doubleword.Truncated(l) != c.truncated || l.Malformed {
				t.Errorf("%+v\nbody %s", l, l.Body)
			}
		})
	}
}

func TestErrorsAreDecodedToTheInnermostMessage(t *testing.T) {
	t.Parallel()
	type want struct {
		code, message, kind string
		status              int
		retryable           bool
	}
	for _, c := range []struct {
		name, line string
		want       want
	}{
		{"three layers", threeDeep, want{"unsupported_parameter", "bad <thing>", "NonRetriableHttpStatus", 400, false}},
		{
			"merged results hold it as a string", `{"id":"1","response_body":null,"status":"failed","error":"{\"type\":\"RetriableHttpStatus\",\"details\":{\"status\":503,\"body\":\"<html>no</html>\"}}"}`,
			want{"RetriableHttpStatus", "<html>no</html>", "RetriableHttpStatus", 503, true},
		},
		{
			"a network error", `{"error":{"code":null,"message":"{\"type\":\"NetworkError\",\"details\":{\"error\":\"{\\\"message\\\":\\\"reset\\\",\\\"sources\\\":[]}\"}}"}}`,
			want{"NetworkError", "reset", "NetworkError", 0, true},
		},
		{"a kind without details", `{"error":{"code":null,"message":"{\"type\":\"BatchTerminated\"}"}}`, want{"BatchTerminated", "BatchTerminated", "BatchTerminated", 0, true}},
		{
			"a row that could not be prepared", `{"error":{"message":"{\"type\":\"RequestBuilderError\",\"details\":{\"error\":\"bad header\"}}"}}`,
			want{"RequestBuilderError", "bad header", "RequestBuilderError", 0, false},
		},
		{
			"credit ran out", `{"error":{"message":"{\"type\":\"NonRetriableHttpStatus\",\"details\":{\"status\":402,\"body\":\"no credit\"}}"}}`,
			want{"NonRetriableHttpStatus", "no credit", "NonRetriableHttpStatus", 402, false},
		},
		{
			"the guide's plain shape", `{"id":"x","custom_id":"a","error":{"code":"invalid_request","message":"Missing required parameter"}}`,
			want{"invalid_request", "Missing required parameter", "", 0, false},
		},
		{"nothing known", `{"response":null,"error":{"code":null,"message":"Unknown error"}}`, want{"", "Unknown error", "", 0, true}},
		{
			"a 4xx with its error in the body", `{"response":{"status_code":400,"body":{"error":{"message":"no top_k","type":"invalid_request_error","code":"unsupported_parameter"}}},"error":null}`,
			want{"unsupported_parameter", "no top_k", "invalid_request_error", 400, false},
		},
		{"a 5xx with a text body", `{"response":{"status_code":502,"body":"bad gateway"},"error":null}`, want{"", "bad gateway", "", 502, true}},
		{"a 4xx without anything", `{"response":{"status_code":429,"body":null},"error":null}`, want{"", "status 429 without a message", "", 429, true}},
		{"a list of details", `{"response":{"status_code":422,"body":{"detail":[{"loc":1}]}}}`, want{"", `[{"loc":1}]`, "", 422, false}},
		{"a number", `{"error":17}`, want{"", "17", "", 0, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := mustParse(t, c.line)
			if l.Err == nil {
				t.Fatalf("no error: %+v", l)
			}
			if got := (want{l.Err.Code, l.Err.Message, l.Err.Type, l.Err.StatusCode, l.Err.Retryable}); got != c.want || l.Malformed {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if len(l.Err.Raw) > 0 && !strings.Contains(c.line, string(l.Err.Raw)) {
				t.Errorf("raw %s is no part of the line", l.Err.Raw)
			}
		})
	}
}

func TestAnErrorNestedForEverEnds(t *testing.T) {
	t.Parallel()
	message := `"deep"`
	for range 10 {
		quoted, err := json.Marshal(`{"message":` + message + `}`)
		if err != nil {
			t.Fatal(err)
		}
		message = string(quoted)
	}
	l := mustParse(t, `{"error":`+message+`}`)
	if l.Err == nil || l.Err.Message == "" || l.Err.Message == "deep" {
		t.Errorf("%+v", l.Err)
	}
}

func TestAHugeMessageIsKeptWholeOnce(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("é", 1<<18)
	l := mustParse(t, `{"custom_id":"a","response":null,"error":{"message":"`+huge+`"}}`)
	if n := len(l.Err.Message); n < 60<<10 || n > 66<<10 || !strings.HasPrefix(huge, strings.Split(l.Err.Message, "…")[0]) {
		t.Errorf("the message has %d bytes", n)
	}
	if !bytes.Contains(l.Err.Raw, []byte(huge)) {
		t.Error("raw is not whole")
	}
}

func TestLinesWithoutAnOutcomeAreMalformedUnlessPending(t *testing.T) {
	t.Parallel()
	for line, malformed := range map[string]bool{
		`{"custom_id":"a"}`: true,
		`{"custom_id":"a","response":null,"error":null}`:                             true,
		`{"custom_id":"a","response":{},"error":{}}`:                                 true,
		`{"custom_id":"a","response":{"status_code":200,"body":null}}`:               true,
		`{"custom_id":"a","response":"x"}`:                                           true,
		`{"custom_id":"a","response_body":null,"error":null,"status":"completed"}`:   true,
		`{"custom_id":"a","response_body":null,"error":null,"status":"pending"}`:     false,
		`{"custom_id":"a","response_body":null,"error":null,"status":"in_progress"}`: false,
		`{"custom_id":"a","response":{"status_code":200,"body":{}},"error":{ }}`:     false,
	} {
		l := mustParse(t, line)
		if l.Malformed != malformed || l.Err != nil || l.Pending() != (strings.Contains(line, "p") && !malformed && l.Body == nil) {
			t.Errorf("%s: %+v", line, l)
		}
	}
}

func TestIDsAreExact(t *testing.T) {
	t.Parallel()
	l := mustParse(t, ` {"custom\u005fid":"é\u00e9\n \"x\" ","id":null} `)
	if l.CustomID != "éé\n \"x\" " || !l.HasCustomID || l.ID != "" {
		t.Errorf("%q", l.CustomID)
	}
	if l := mustParse(t, `{"custom_id":""}`); !l.HasCustomID || l.CustomID != "" {
		t.Error("an empty id is an id")
	}
	if l := mustParse(t, `{"custom_id":7}`); l.HasCustomID {
		t.Error("a number is no id")
	}
}

func TestABrokenLineKeepsItsIDAndHidesItsText(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"custom_id":"b",`, `{"custom_id":"b","response":{"body":{"secret_name":tru}}}`, `{"custom_id":"b"} x`, `{"custom_id":"b"}{}`,
		`{"custom_id":"b","response":{"status_code":200,"body":{"choices":[{"secret_name":1`,
	} {
		l, err := doubleword.ParseLine([]byte(line))
		if err == nil || l.CustomID != "b" || !l.Malformed || strings.Contains(err.Error(), "secret_name") {
			t.Errorf("%s: %+v, %v", line, l, err)
		}
	}
	for _, line := range []string{"[]", "null", `"x"`, "1", "\ufeff{}"} {
		if l, err := doubleword.ParseLine([]byte(line)); err == nil || !l.Malformed {
			t.Errorf("%s: %+v", line, l)
		}
	}
	if _, err := doubleword.ParseLine([]byte(" \r\t")); !errors.Is(err, doubleword.ErrBlankLine) {
		t.Errorf("blank: %v", err)
	}
}

func FuzzParseLine(f *testing.F) {
	for _, line := range []string{
		nestedLine, flatLine, threeDeep, `{"custom_id":"b",`, `{"custom_id":7,"response":{"status_code":"x","body":"t"},"error":{}}`,
		"{\"response_body\":{\"\xff\":\"\\ud800\",\"usage\":{\"input_tokens\":1e400}}}", `{"response":{"body":{"choices":[[],{}],"choices":{}}}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		l, err := doubleword.ParseLine(line)
		if !bytes.Equal(before, line) {
			t.Fatal("the line was changed")
		}
		for _, part := range [][]byte{l.Body, rawOf(l)} {
			if part != nil && err == nil && (!json.Valid(part) || !bytes.Contains(line, part) || !aliases(line, part)) {
				t.Fatalf("%q is no valid part of the line", part)
			}
		}
		if err == nil && !json.Valid(line) {
			t.Fatal("a line was accepted that is no JSON")
		}
		_ = doubleword.Truncated(l)
	})
}

func rawOf(l doubleword.Line) []byte {
	if l.Err == nil {
		return nil
	}
	return l.Err.Raw
}

// aliases reports whether part lies in the memory of whole.
func aliases(whole, part []byte) bool {
	for i := range whole {
		if &whole[i] == &part[0] {
			return true
		}
	}
	return false
}
