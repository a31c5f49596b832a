package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestWhichEarlierCallAnEqualOneAttachesTo(t *testing.T) {
	t.Parallel()
	at := func(minute int) *time.Time {
		when := time.Date(2026, 11, 30, 2, minute, 0, 0, time.UTC)
		return &when
	}
	open := func(id string) *call { return &call{id: id, record: record{Gateway: "alive"}} }
	left := func(id string) *call { return &call{id: id, record: record{Gateway: "gone"}} }
	answered := func(id string, minute int) *call { return &call{id: id, record: record{AnsweredAt: at(minute)}} }
	for name, c := range map[string]struct {
		all   []*call
		retry bool
		want  string
		take  bool
	}{
		"none is there":                             {},
		"none is there, and it is a retry":          {retry: true},
		"an open one is another call":               {all: []*call{open("a")}},
		"an answered one is another call":           {all: []*call{answered("a", 1)}},
		"one that was left is taken over":           {all: []*call{open("a"), left("b"), left("c")}, want: "b", take: true},
		"a retry takes over what was left":          {all: []*call{answered("a", 1), open("b"), left("c")}, retry: true, want: "c", take: true},
		"a retry shares the oldest open one":        {all: []*call{answered("a", 1), open("b"), open("c")}, retry: true, want: "b"},
		"a retry is given the last answer again":    {all: []*call{answered("a", 1), answered("b", 3), answered("c", 2)}, retry: true, want: "b"},
		"an answered one is not asked for its line": {all: []*call{{id: "a", record: record{Gateway: "gone", AnsweredAt: at(1)}}}},
	} {
		got, take := choose(c.all, c.retry, func(c *call) bool { return c.Gateway == "alive" })
		id := ""
		if got != nil {
			id = got.id
		}
		if id != c.want || take != c.take {
			t.Errorf("%s: %q %v, want %q %v", name, id, take, c.want, c.take)
		}
	}
}

func TestPreferencesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	s := &Service{cfg: Config{MaxWait: time.Hour}}
	for text, want := range map[string]time.Duration{
		"": time.Hour, "respond-async": 0, "wait=10": 10 * time.Second, "Respond-Async, wait=10": 10 * time.Second, "wait=7200": time.Hour,
		`handling=lenient,WAIT="5"`: 5 * time.Second, "wait=-1": time.Hour, "wait=soon": time.Hour,
	} {
		if got := s.patience(http.Header{"Prefer": {text}}); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := (&Service{}).patience(http.Header{}); got >= 0 {
		t.Errorf("without a wish: %s", got)
	}
}

func TestTheStatusOfAFailureSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for want, r := range map[int]events.Result{
		400: {Outcome: events.Rejected, Error: &events.Error{Code: "provider_refused", Message: "m"}},
		402: {Outcome: events.Failed, Error: &events.Error{Code: "out_of_credit", StatusCode: 402}},
		409: {Outcome: events.Cancelled, Error: &events.Error{Code: "job_cancelled"}},
		429: {Outcome: events.Failed, StatusCode: 429},
		500: {Outcome: events.Failed, StatusCode: 500, Error: &events.Error{Raw: `{"error":{"message":"theirs"}}`}},
		502: {Outcome: events.Failed, Error: &events.Error{Code: "missing_result"}},
		504: {Outcome: events.Expired, Error: &events.Error{Code: "window_expired", StatusCode: 408}},
	} {
		if want == 429 {
			r.Error = &events.Error{Code: "rate_limit"}
		}
		f := failureOf(&r)
		var body struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(f.body(urlChat), &body); err != nil || f.status != want || !f.final {
			t.Errorf("%+v: %+v, %v", r, f, err)
		}
		if want == 500 && body.Error.Message != "theirs" {
			t.Errorf("the provider's own error is lost: %s", f.body(urlChat))
		}
	}
	if body := string((&fault{status: 429, message: "m"}).body(urlMessages)); !strings.HasPrefix(body, `{"type":"error","error":{"message":"m","type":"rate_limit_error"`) {
		t.Errorf("Anthropic's programs read %s", body)
	}
}

func TestCallersAreReadWithoutTellingTheirKeys(t *testing.T) {
	t.Parallel()
	c, err := ParseCallers([]byte(`{"secret-a":"one","sha256:` + "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b" + `":"two"}`))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"secret-a": "one", "secret": "two", "": "", "secret-b": ""} {
		if queue, ok := c.queueOf(key); queue != want || ok != (want != "") {
			t.Errorf("%q: %q %v", key, queue, ok)
		}
	}
	for _, text := range []string{``, `[]`, `{}`, `{"secret":1}`, `{"":"q"}`, `{"secret":"a.b"}`, `{"sha256:secret":"q"}`, `{"secret"`} {
		if _, err := ParseCallers([]byte(text)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// streamed is what the events of an answer are, each as "name data".
func streamed(t *testing.T, url, response string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	x := &exchange{out: &answer{w: w, url: url, timeout: time.Minute}, q: &request{url: url, usage: true}}
	x.stream([]byte(response))
	var all []string
	for text := range strings.SplitSeq(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n") {
		all = append(all, strings.TrimPrefix(strings.ReplaceAll(text, "\ndata: ", " "), "data: "))
	}
	return all
}

func TestAnAnswerBecomesTheEventsOfItsStream(t *testing.T) {
	t.Parallel()
	for url, c := range map[string]struct {
		response string
		want     []string
	}{
		urlChat: {
			`{"id":"x","choices":[{"index":1,"finish_reason":"tool_calls","message":{"role":"assistant","content":"a\u00e9","reasoning":"r",
			"tool_calls":[{"id":"c","function":{"arguments":"{}"}}]},"logprobs":{"content":[]}}],"usage":{"total_tokens":1E1}}`,
			[]string{
				`{"object":"chat.completion.chunk","id":"x","choices":[{"index":1,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}`,
				`{"object":"chat.completion.chunk","id":"x","choices":[{"index":1,"delta":{"content":"a\u00e9","reasoning":"r"},"logprobs":{"content":[]},"finish_reason":null}],"usage":null}`,
				`{"object":"chat.completion.chunk","id":"x","choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"arguments":"{}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}`,
				`{"object":"chat.completion.chunk","id":"x","choices":[{"index":1,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}`,
				`{"object":"chat.completion.chunk","id":"x","choices":[],"usage":{"total_tokens":1E1}}`,
				`[DONE]`,
			},
		},
		urlResponses: {
			`{"id":"r","status":"incomplete","output":[{"type":"function_call","id":"f","name":"n","arguments":"{1}","status":"completed"},{"type":"message","id":"m","content":[{"type":"refusal","refusal":"no"}]}]}`,
			[]string{
				`response.created {"type":"response.created","sequence_number":0,"response":{"usage":null,"id":"r","status":"in_progress","output":[]}}`,
				`response.in_progress {"type":"response.in_progress","sequence_number":1,"response":{"usage":null,"id":"r","status":"in_progress","output":[]}}`,
				`response.output_item.added {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"type":"function_call","id":"f","name":"n","arguments":"","status":"in_progress"}}`,
				`response.function_call_arguments.delta {"type":"response.function_call_arguments.delta","sequence_number":3,"item_id":"f","output_index":0,"delta":"{1}"}`,
				`response.function_call_arguments.done {"type":"response.function_call_arguments.done","sequence_number":4,"item_id":"f","output_index":0,"name":"n","arguments":"{1}"}`,
				`response.output_item.done {"type":"response.output_item.done","sequence_number":5,"output_index":0,"item":{"type":"function_call","id":"f","name":"n","arguments":"{1}","status":"completed"}}`,
				`response.output_item.added {"type":"response.output_item.added","sequence_number":6,"output_index":1,"item":{"type":"message","id":"m","content":[]}}`,
				`response.content_part.added {"type":"response.content_part.added","sequence_number":7,"item_id":"m","output_index":1,"content_index":0,"part":{"type":"refusal","refusal":""}}`,
				`response.refusal.delta {"type":"response.refusal.delta","sequence_number":8,"item_id":"m","output_index":1,"content_index":0,"delta":"no"}`,
				`response.refusal.done {"type":"response.refusal.done","sequence_number":9,"item_id":"m","output_index":1,"content_index":0,"refusal":"no"}`,
				`response.content_part.done {"type":"response.content_part.done","sequence_number":10,"item_id":"m","output_index":1,"content_index":0,"part":{"type":"refusal","refusal":"no"}}`,
				`response.output_item.done {"type":"response.output_item.done","sequence_number":11,"output_index":1,"item":{"type":"message","id":"m","content":[{"type":"refusal","refusal":"no"}]}}`,
				`response.incomplete {"type":"response.incomplete","sequence_number":12,"response":{"id":"r","status":"incomplete","output":[{"type":"function_call","id":"f","name":"n","arguments":"{1}","status":"completed"},{"type":"message","id":"m","content":[{"type":"refusal","refusal":"no"}]}]}}`,
			},
		},
		urlMessages: {
			`{"id":"a","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"u","input":{"k":"\""}}],"stop_reason":"tool_use","usage":{"output_tokens":3}}`,
			[]string{
				`message_start {"type":"message_start","message":{"stop_sequence":null,"id":"a","content":[],"stop_reason":null,"usage":{"output_tokens":3}}}`,
				`content_block_start {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
				`content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"t"}}`,
				`content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}`,
				`content_block_stop {"type":"content_block_stop","index":0}`,
				`content_block_start {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"u","input":{}}}`,
				`content_block_delta {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"k\":\"\\\"\"}"}}`,
				`content_block_stop {"type":"content_block_stop","index":1}`,
				`message_delta {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":3}}`,
				`message_stop {"type":"message_stop"}`,
			},
		},
	} {
		var want []string
		for _, line := range c.want {
			if line != "[DONE]" && !strings.HasPrefix(line, "{") {
				line = "event: " + line
			}
			want = append(want, line)
		}
		if got := streamed(t, url, c.response); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", url, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
