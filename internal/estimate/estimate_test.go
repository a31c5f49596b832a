package estimate_test

import (
	"math"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/estimate"
	"github.com/batchbus/batchbus/pkg/events"
)

const chat = "/v1/chat/completions"

func TestARowsTextIsATokenForEveryThreeBytesAndItsTemplate(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"` + strings.Repeat("é", 3000) + `"}]}`
	got := estimate.OfRow(chat, []byte(body))
	want := estimate.Row{Input: int64(len(body)+2)/3 + 16, Output: 100}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTheBoundOfAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url, members string
		output       int64
		unbounded    bool
	}{
		"is max_tokens":                              {chat, `"max_tokens":7`, 7, false},
		"is max_completion_tokens":                   {chat, `"max_completion_tokens":8`, 8, false},
		"is max_output_tokens":                       {"/v1/responses", `"max_output_tokens":9`, 9, false},
		"is the largest of them":                     {chat, `"max_completion_tokens":8,"max_tokens":70`, 70, false},
		"holds for each choice":                      {chat, `"max_tokens":7,"n":3`, 21, false},
		"is at most that of any model":               {chat, `"max_tokens":1e300`, estimate.MaxOutputTokens, false},
		"is none when it is no number":               {chat, `"max_tokens":"7"`, 1, true},
		"is none when it is null":                    {chat, `"max_tokens":null`, 1, true},
		"is none when it is negative":                {chat, `"max_tokens":-7`, 1, true},
		"is none when it is deeper":                  {chat, `"tools":[{"max_tokens":7}],"metadata":{"max_tokens":8}`, 1, true},
		"is none when there is none":                 {chat, `"n":3`, 3, true},
		"is none when the name has other letters":    {chat, `"Max_Tokens":7`, 1, true},
		"is nothing for embeddings, whatever stands": {"/v1/embeddings", `"max_tokens":7`, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := estimate.OfRow(c.url, []byte(`{"model":"m",`+c.members+`}`))
			if got.Output != c.output || got.Unbounded != c.unbounded {
				t.Errorf("%+v, want %d, unbounded %v", got, c.output, c.unbounded)
			}
		})
	}
}

func TestAnImageCountsAsOneAndNotByItsBytes(t *testing.T) {
	t.Parallel()
	image := `"data:image/png;base64,` + strings.Repeat("A", 1<<20) + `"`
	for name, c := range map[string]struct {
		content string
		images  int64
	}{
		"embedded":                       {`{"type":"image_url","image_url":{"url":` + image + `}}`, 1},
		"by an address":                  {`{"type":"image_url","image_url":{"url":"https://x/y.png"}}`, 1},
		"of the responses API, embedded": {`{"type":"input_image","image_url":` + image + `}`, 1},
		"two":                            {`{"type":"image_url","image_url":{"url":` + image + `}},{"type":"image_url","image_url":{"url":"https://x"}}`, 2},
		"without a type":                 {`{"image":{"url":` + image + `}}`, 1},
		"none":                           {`{"type":"text","text":"image_url is a word, and data: too"}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := estimate.OfRow(chat, []byte(`{"model":"m","messages":[{"role":"user","content":[`+c.content+`]}]}`))
			low, high := c.images*estimate.ImageTokens, c.images*estimate.ImageTokens+200
			if got.Input < low || got.Input > high {
				t.Errorf("input %d, want %d to %d", got.Input, low, high)
			}
		})
	}
}

func TestWhatIsNoJSONCountsByItsBytes(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `{`, `{"max_tokens":`, `nonsense`, `{"a":[1,2}`, `[]]`, `{"max_tokens":1`} {
		if got := estimate.OfRow(chat, []byte(body)); got.Input != int64(len(body)+2)/3+16 {
			t.Errorf("%q: %+v", body, got)
		}
	}
}

func TestSumsTakeWhatIsAssumedOfUnboundedAnswers(t *testing.T) {
	t.Parallel()
	var sum estimate.Sum
	sum.Add(estimate.Row{Input: 10, Output: 100})
	sum.Add(estimate.Row{Input: 20, Output: 2, Unbounded: true})
	if sum != (estimate.Sum{Rows: 2, Input: 30, Bounded: 100, Unbounded: 2}) {
		t.Errorf("sum %+v", sum)
	}
	if got := sum.Tokens(50); got != (events.Usage{PromptTokens: 30, CompletionTokens: 200, TotalTokens: 230}) {
		t.Errorf("tokens %+v", got)
	}
	sum.AddSum(estimate.Sum{Input: math.MaxInt64, Unbounded: math.MaxInt64})
	if got := sum.Tokens(50); got.TotalTokens != math.MaxInt64 || got.CompletionTokens != math.MaxInt64 {
		t.Errorf("tokens beyond all numbers: %+v", got)
	}
}

func TestHistoryIsTheAverageAndAQuarterMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answers, tokens, want int64 }{
		{0, 0, estimate.DefaultOutputTokens}, {10, 1000, 126}, {3, 0, 1}, {1, math.MaxInt64 / 8, estimate.MaxOutputTokens},
	} {
		if got := estimate.Assume(c.answers, c.tokens); got != c.want {
			t.Errorf("%d answers of %d tokens: %d, want %d", c.answers, c.tokens, got, c.want)
		}
	}
}

func FuzzNoBodyMakesAnEstimateNegative(f *testing.F) {
	f.Add([]byte(`{"max_tokens":1,"n":2,"messages":[{"content":"data:image/png;base64,x"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got := estimate.OfRow(chat, body); got.Input < 0 || got.Output < 0 || got.Unbounded && got.Output == 0 {
			t.Errorf("%+v", got)
		}
	})
}
