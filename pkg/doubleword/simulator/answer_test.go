package simulator_test

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// answered runs rows and returns the answer bodies by custom_id.
func answered(t *testing.T, cfg simulator.Config, rows ...string) map[string]json.RawMessage {
	t.Helper()
	p := start(t, cfg)
	batch := p.create(p.upload(strings.Join(rows, "\n")))
	p.untilStatus(batch.id, "completed")
	out := map[string]json.RawMessage{}
	for _, line := range lines(p.content(batch.output, "").body) {
		var row struct {
			CustomID string `json:"custom_id"`
			Response struct {
				Body json.RawMessage `json:"body"`
			} `json:"response"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		out[row.CustomID] = row.Response.Body
	}
	return out
}

// at walks decoded JSON by keys and indexes.
func at(t *testing.T, raw []byte, path ...any) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v
}

func TestAnswersDependOnSeedAndRowAlone(t *testing.T) {
	t.Parallel()
	rows := []string{strings.TrimSpace(chatRow("a", "")), strings.TrimSpace(chatRow("b", ""))}
	first := answered(t, simulator.Config{Seed: 1}, rows...)
	again := answered(t, simulator.Config{Seed: 1, RowsPerSecond: 1000}, rows[1], rows[0])
	other := answered(t, simulator.Config{Seed: 2}, rows...)
	for id, body := range first {
		if string(again[id]) != string(body) {
			t.Errorf("%s: the same seed answers otherwise", id)
		}
		if string(other[id]) == string(body) {
			t.Errorf("%s: another seed answers the same", id)
		}
	}
	renamed := answered(t, simulator.Config{Seed: 1}, strings.Replace(rows[0], `"custom_id":"a"`, `"custom_id":"0~a"`, 1))
	if string(renamed["0~a"]) != string(first["a"]) {
		t.Error("the custom_id decides the answer")
	}
}

// sortedKeys reports the first object of raw whose keys are not in order.
func sortedKeys(t *testing.T, raw []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	var compact strings.Builder
	encoder := json.NewEncoder(&compact) // sorts the keys of maps
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	if len(raw) < 4096 && strings.TrimSpace(compact.String()) != string(raw) {
		t.Errorf("keys are not sorted:\n%s\n%s", raw, compact.String())
	}
}

func TestAModelCallsTheToolsThatTheUserNamesAndThenAnswers(t *testing.T) {
	t.Parallel()
	const (
		chatTools    = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},{"type":"function","function":{"name":"get","parameters":{"type":"object"}}}]`
		chatRound    = `,{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"1"},{"role":"tool","tool_call_id":"d","content":"2"}`
		messageTools = `,"max_tokens":500,"tools":[{"name":"f","input_schema":{"type":"object"}}]`
		messageRound = `,{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"1"}]}`
		user, both   = `{"role":"user","content":"x"}`, `{"role":"user","content":"get, then f"}`
	)
	body := func(messages, more string) string { return `{"model":"m","messages":[` + messages + `]` + more + `}` }
	chat := func(id, messages, more string) string {
		return envelope(id, "POST", "/v1/chat/completions", body(messages, chatTools+more))
	}
	message := func(id, messages string) string {
		return envelope(id, "POST", "/v1/messages", body(messages, messageTools))
	}
	got := answered(t, simulator.Config{},
		chat("one", user, ""), chat("one, answered", user+chatRound, ""),
		chat("both", both, ""), chat("both, second", both+chatRound, ""), chat("both, answered", both+chatRound+chatRound, ""),
		chat("next question", user+chatRound+`,{"role":"assistant","content":"y"},`+user, ""),
		chat("must", user+chatRound+chatRound, `,"tool_choice":"required"`),
		message("message", user), message("message, answered", user+messageRound),
	)
	for id, want := range map[string]string{"one": "f", "both": "get", "both, second": "f", "next question": "f", "must": "f"} {
		if name := at(t, got[id], "choices", 0, "message", "tool_calls", 0, "function", "name"); name != want {
			t.Errorf("%s: %v, not %v", id, name, want)
		}
	}
	for _, id := range []string{"one, answered", "both, answered"} {
		if reason := at(t, got[id], "choices", 0, "finish_reason"); reason != "stop" {
			t.Errorf("%s: %v", id, reason)
		}
	}
	for id, want := range map[string]any{"message": "tool_use", "message, answered": "end_turn"} {
		if reason := at(t, got[id], "stop_reason"); reason != want {
			t.Errorf("%s: %v, not %v", id, reason, want)
		}
	}
}

func TestEachEndpointAnswersInItsShape(t *testing.T) {
	t.Parallel()
	const tools = `,"tools":[{"type":"function","function":{"name":"first","parameters":{"type":"object"}}},{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"location":{"type":"string"},"unit":{"enum":["C","F"]}},"required":["location"]}}}]`
	row := func(id, url, body string) string { return envelope(id, "POST", url, body) }
	got := answered(t, simulator.Config{Seed: 8},
		row("short", "/v1/chat/completions", chatBody(`,"max_tokens":3,"n":2`)),
		row("tool", "/v1/chat/completions", chatBody(tools+`,"tool_choice":{"type":"function","function":{"name":"get_weather"}}`)),
		row("no tool", "/v1/chat/completions", chatBody(tools+`,"tool_choice":"none"`)),
		row("image", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"describe"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`),
		row("response", "/v1/responses", `{"model":"m","input":"say hello","max_output_tokens":2}`),
		row("response tool", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"x"}],"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"k":{"type":"integer"}}}}]}`),
		row("completion", "/v1/completions", `{"model":"m","prompt":"once upon"}`),
		row("message", "/v1/messages", `{"model":"m","max_tokens":500,"messages":[{"role":"user","content":"hi"}]}`),
		row("vector", "/v1/embeddings", `{"model":"m","input":"x"}`),
		row("vectors", "/v1/embeddings", `{"model":"m","input":["x","y"],"dimensions":8}`),
		row("packed", "/v1/embeddings", `{"model":"m","input":[1,2,3],"dimensions":8,"encoding_format":"base64"}`),
	)
	for _, body := range got {
		sortedKeys(t, body)
	}
	check := func(id string, want any, path ...any) {
		t.Helper()
		if v := at(t, got[id], path...); v != want {
			t.Errorf("%s %v: %v, not %v", id, path, v, want)
		}
	}
	check("short", "length", "choices", 1, "finish_reason")
	check("short", 6.0, "usage", "completion_tokens")
	check("tool", "tool_calls", "choices", 0, "finish_reason")
	check("tool", "get_weather", "choices", 0, "message", "tool_calls", 0, "function", "name")
	check("tool", nil, "choices", 0, "message", "content")
	check("no tool", "stop", "choices", 0, "finish_reason")
	check("response", "incomplete", "status")
	check("response", "max_output_tokens", "incomplete_details", "reason")
	check("response tool", "function_call", "output", 0, "type")
	check("completion", "text_completion", "object")
	check("completion", 16.0, "usage", "completion_tokens")
	check("message", "end_turn", "stop_reason")
	check("vectors", 1.0, "data", 1, "index")
	if text := at(t, got["image"], "choices", 0, "message", "content").(string); !strings.Contains(text, "image") || !strings.Contains(text, "describe") {
		t.Errorf("about an image: %q", text)
	}
	arguments := at(t, []byte(at(t, got["tool"], "choices", 0, "message", "tool_calls", 0, "function", "arguments").(string)))
	if m := arguments.(map[string]any); m["location"] == "" || (m["unit"] != "C" && m["unit"] != "F") {
		t.Errorf("arguments %v", m)
	}
	vector, length := at(t, got["vector"], "data", 0, "embedding").([]any), 0.0
	for _, x := range vector {
		length += x.(float64) * x.(float64)
	}
	if len(vector) != 1024 || math.Abs(length-1) > 0.2 {
		t.Errorf("%d components of length %v", len(vector), math.Sqrt(length))
	}
	packed, err := base64.StdEncoding.DecodeString(at(t, got["packed"], "data", 0, "embedding").(string))
	if err != nil || len(packed) != 32 {
		t.Errorf("%d bytes, %v", len(packed), err)
	}
}

func TestStructuredAnswersSatisfyTheirSchema(t *testing.T) {
	t.Parallel()
	const schema = `{"$defs":{"node":{"type":"object","properties":{"value":{"type":"integer","minimum":5,"maximum":7},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["value","children"]}},
		"type":"object","required":["kind","score","tree","tags","extra"],"properties":{
		"kind":{"enum":["a","b"]},"score":{"type":"number","exclusiveMinimum":0,"maximum":1},"tree":{"$ref":"#/$defs/node"},
		"tags":{"type":"array","items":{"type":"string","minLength":30,"maxLength":32},"minItems":4,"maxItems":5},
		"fixed":{"const":{"x":1}},"maybe":{"anyOf":[{"type":"null"},{"type":"boolean"}]},"step":{"type":"integer","multipleOf":5,"exclusiveMaximum":20}}}`
	format := `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` + strings.ReplaceAll(strings.ReplaceAll(schema, "\n", ""), "\t", "") + `}}`
	var rows []string
	for i := range 40 {
		rows = append(rows, envelope(strconv.Itoa(i), "POST", "/v1/chat/completions", chatBody(format)))
	}
	type node struct {
		Value    *float64 `json:"value"`
		Children []node   `json:"children"`
	}
	var sound func(n node) bool
	sound = func(n node) bool {
		return n.Value != nil && *n.Value >= 5 && *n.Value <= 7 && n.Children != nil && !slices.ContainsFunc(n.Children, func(c node) bool { return !sound(c) })
	}
	for id, body := range answered(t, simulator.Config{}, rows...) {
		text := at(t, body, "choices", 0, "message", "content").(string)
		var v struct {
			Kind  string         `json:"kind"`
			Score float64        `json:"score"`
			Tree  node           `json:"tree"`
			Tags  []string       `json:"tags"`
			Fixed map[string]int `json:"fixed"`
			Maybe *bool          `json:"maybe"`
			Step  int            `json:"step"`
			Extra *any           `json:"extra"`
		}
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v in %s", id, err, text)
		}
		tags := len(v.Tags) >= 4 && len(v.Tags) <= 5 && !slices.ContainsFunc(v.Tags, func(s string) bool { return len(s) < 30 || len(s) > 32 })
		if (v.Kind != "a" && v.Kind != "b") || v.Score <= 0 || v.Score > 1 || !sound(v.Tree) || !tags || v.Fixed["x"] != 1 || v.Step%5 != 0 || v.Step >= 20 || v.Extra == nil {
			t.Errorf("%s: %s", id, text)
		}
	}
}

func TestAnalyticsAgreeWithTheAnswers(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Seed: 6})
	file := p.upload(chatRows(20))
	batch := p.create(file)
	p.untilStatus(batch.id, "completed")
	prompt, completion := 0.0, 0.0
	for _, line := range lines(p.content(batch.output, "").body) {
		prompt += at(t, []byte(line), "response", "body", "usage", "prompt_tokens").(float64)
		completion += at(t, []byte(line), "response", "body", "usage", "completion_tokens").(float64)
	}
	sums := p.get("/v1/batches/" + batch.id + "/analytics").json(t)
	if sums["total_prompt_tokens"] != prompt || sums["total_completion_tokens"] != completion || sums["total_tokens"] != prompt+completion {
		t.Errorf("%v, not %v and %v", sums, prompt, completion)
	}
	listed := at(t, []byte(p.get("/v1/batches?include=analytics").body), "data", 0, "analytics", "total_tokens")
	if listed != prompt+completion {
		t.Errorf("listed %v", listed)
	}
	cost := p.get("/v1/files/" + file + "/cost-estimate").json(t)
	if cost["total_requests"] != 20.0 || cost["total_estimated_input_tokens"].(float64) < 20 || cost["total_estimated_cost"] == "" {
		t.Errorf("%v", cost)
	}
	if models := p.get("/v1/models").json(t); models["object"] != "list" {
		t.Errorf("%v", models)
	}
}
