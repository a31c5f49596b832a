package resultdiff_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/resultdiff"
	"github.com/batchbus/batchbus/pkg/events"
)

func event(id, outcome, response, code string) string {
	fault := "null"
	if code != "" {
		fault = `{"code":"` + code + `","message":"x"}`
	}
	return fmt.Sprintf(`{"custom_id":%q,"queue":"q","outcome":%q,"status_code":200,"response":%s,"error":%s}`, id, outcome, response, fault)
}

func openAI(id, response, code string) string {
	fault := "null"
	if code != "" {
		fault = `{"code":"` + code + `","message":"x"}`
	}
	if response != "null" {
		response = `{"status_code":200,"request_id":null,"body":` + response + `}`
	}
	return fmt.Sprintf(`{"id":null,"custom_id":%q,"response":%s,"error":%s}`, id, response, fault)
}

func chat(id, text string) string {
	return `{"id":"` + id + `","choices":[{"message":{"content":"` + text + `"}}],"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5}}`
}

func set(t *testing.T, lines ...string) *resultdiff.Set {
	t.Helper()
	s := resultdiff.NewSet(3)
	t.Cleanup(func() { _ = s.Close() })
	half := len(lines) / 2
	for _, part := range [][]string{lines[:half], lines[half:]} {
		if err := s.Add(t.Context(), strings.NewReader(strings.Join(part, "\n"))); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func diff(t *testing.T, a, b *resultdiff.Set, text bool) ([]string, resultdiff.Summary) {
	t.Helper()
	var all []string
	sum, err := resultdiff.Diff(t.Context(), a, b, text, func(c resultdiff.Change) error {
		same := "-"
		if c.SameText != nil {
			same = strconv.FormatBool(*c.SameText)
		}
		all = append(all, c.CustomID+" "+c.Kind+" "+same)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all, sum
}

func TestRowsAreComparedByTheirIDs(t *testing.T) {
	t.Parallel()
	a := set(
		t, event("same", "succeeded", chat("1", "x"), ""), event("gone", "succeeded", chat("1", "x"), ""), event("worse", "succeeded", chat("1", "x"), ""),
		event("said", "succeeded", chat("1", "x"), ""), event("other", "succeeded", chat("1", "x"), ""), event("code", "failed", "null", "one"),
		event("vector", "succeeded", `{"data":[1.0]}`, ""), `{"outcome":"dead_letter","code":"invalid_json"}`, "oops",
		`{"outcome":"dead_letter","custom_id":"dead","code":"duplicate"}`, event("same", "succeeded", chat("2", "y"), ""),
	)
	b := set(
		t, event("vector", "succeeded", `{"data":[1]}`, ""), event("code", "failed", "null", "two"), event("new", "expired", "null", "expired"),
		event("other", "succeeded", chat("1", "z"), ""), event("said", "succeeded", chat("2", "x"), ""), event("worse", "failed", "null", "x"),
		event("same", "succeeded", chat("1", "x"), ""), `{"outcome":"dead_letter","custom_id":"dead","code":"duplicate"}`,
	)
	got, sum := diff(t, a, b, false)
	want := []string{"code error -", "gone only_a -", "new only_b -", "other answer false", "said answer true", "vector answer -", "worse outcome -"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if usage := (events.Usage{PromptTokens: 10, CompletionTokens: 15, TotalTokens: 25}); sum != (resultdiff.Summary{
		RowsA: 9, RowsB: 8, Same: 2, OnlyA: 1, OnlyB: 1, Outcome: 1, Answer: 3, Error: 1, Doubled: 1, NoID: 2,
		UsageA: usage, UsageB: events.Usage{PromptTokens: 6, CompletionTokens: 9, TotalTokens: 15},
	}) || !sum.Differs() {
		t.Errorf("%+v", sum)
	}
	got, sum = diff(t, a, b, true)
	if slices.Contains(got, "said answer true") || sum.SameText != 1 || sum.Answer != 2 {
		t.Errorf("%q %+v", got, sum)
	}
	if got, sum := diff(t, b, b, false); got != nil || sum.Differs() || sum.Same != 8 {
		t.Errorf("a set differs from itself: %q %+v", got, sum)
	}
}

func TestTheShapesOfLinesAreTheSameResults(t *testing.T) {
	t.Parallel()
	body := `{"id":"x",  "n":1E5,"s":"\u00e9"}`
	a := set(t, event("a", "succeeded", body, ""), event("b", "expired", "null", ""), event("c", "failed", `{"error":1}`, "boom"), event("d", "rejected", "null", "rejected"))
	b := set(t, openAI("a", body, ""), openAI("b", "null", "expired"), openAI("c", `{"error":1}`, "boom"), openAI("d", "null", "rejected"))
	c := set(t, `{"id":"1","custom_id":"a","response_body":`+body+`}`)
	if got, _ := diff(t, a, b, false); got != nil {
		t.Errorf("%q", got)
	}
	if got, _ := diff(t, c, b, false); !slices.Equal(got, []string{"b only_b -", "c only_b -", "d only_b -"}) {
		t.Errorf("%q", got)
	}
}

func TestTheTextOfAnswersIsFoundForEachUrl(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		chat("1", "caf\u00e9"):                                         "café",
		`{"choices":[{"text":"a"},{"text":"b"}]}`:                      "a\x00b",
		`{"output":[{"content":[{"type":"output_text","text":"a"}]}]}`: "a",
		`{"content":[{"type":"text","text":"a"}]}`:                     "a",
		`{"choices":[{"message":{"content":null,"tool_calls":[]}}]}`:   "",
		`{"data":[]}`: "",
		`[]`:          "",
	} {
		if got, known := resultdiff.Text([]byte(answer)); got != want || known != (want != "") {
			t.Errorf("%s: %q %v", answer, got, known)
		}
	}
}

func TestComparingStopsWithItsContextAndItsReader(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	a, b := set(t, event("a", "failed", "null", "")), set(t)
	if _, err := resultdiff.Diff(t.Context(), a, b, false, func(resultdiff.Change) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := resultdiff.Diff(ctx, a, b, false, nil); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := a.Add(ctx, strings.NewReader("x")); !errors.Is(err, stop) {
		t.Error(err)
	}
}
