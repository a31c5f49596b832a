package gateway_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/batchbus/batchbus/test/rig"
)

func weather() openai.ChatCompletionNewParams {
	p := ask("What is the weather?")
	p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "get_weather",
		Parameters: shared.FunctionParameters{
			"type": "object", "properties": map[string]any{"location": map[string]any{"type": "string"}}, "required": []string{"location"},
		},
	})}
	return p
}

func structured() openai.ChatCompletionNewParams {
	p := ask("A report, please")
	p.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "report", Schema: map[string]any{
			"type": "object", "required": []string{"score"}, "properties": map[string]any{"score": map[string]any{"type": "integer", "minimum": 1, "maximum": 5}},
		}},
	}}
	return p
}

func TestProgramsOfOpenAIsSDKRunUnchanged(t *testing.T) {
	t.Parallel()
	h := build(t, 1)
	c := h.sdk(0)
	t.Run("a chat is answered", func(t *testing.T) {
		t.Parallel()
		got, err := c.Chat.Completions.New(rig.Patiently(t), ask("hello"))
		wantAnswer(t, "hello", got, err)
	})
	t.Run("a tool is called, streamed or not", func(t *testing.T) {
		t.Parallel()
		got, streamed := both(t, c, weather())
		calls, again := got.Choices[0].Message.ToolCalls, streamed.Choices[0].Message.ToolCalls
		if len(calls) != 1 || calls[0].Function.Name != "get_weather" || !strings.Contains(calls[0].Function.Arguments, "location") {
			t.Fatalf("%s", got.RawJSON())
		}
		if len(again) != 1 || again[0].Function.Name != calls[0].Function.Name || again[0].Function.Arguments != calls[0].Function.Arguments || again[0].ID == "" {
			t.Errorf("streamed: %+v, and not %+v", again, calls)
		}
		if streamed.Choices[0].FinishReason != got.Choices[0].FinishReason {
			t.Errorf("streamed: %s", streamed.Choices[0].FinishReason)
		}
	})
	t.Run("an answer keeps to its JSON schema, streamed or not", func(t *testing.T) {
		t.Parallel()
		got, streamed := both(t, c, structured())
		var report struct {
			Score int `json:"score"`
		}
		if err := json.Unmarshal([]byte(got.Choices[0].Message.Content), &report); err != nil || report.Score < 1 || report.Score > 5 {
			t.Errorf("%q: %v", got.Choices[0].Message.Content, err)
		}
		if streamed.Choices[0].Message.Content != got.Choices[0].Message.Content || streamed.Usage.TotalTokens != got.Usage.TotalTokens {
			t.Errorf("streamed %+v, and not %+v", streamed, got)
		}
	})
	t.Run("embeddings come", func(t *testing.T) {
		t.Parallel()
		got, err := c.Embeddings.New(rig.Patiently(t), openai.EmbeddingNewParams{
			Model: "model-e", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"x", "y"}},
		})
		if err != nil || len(got.Data) != 2 || len(got.Data[1].Embedding) == 0 {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("a response is answered, streamed or not", func(t *testing.T) {
		t.Parallel()
		wantResponses(t, c)
	})
	t.Run("a legacy completion is answered", func(t *testing.T) {
		t.Parallel()
		got, err := c.Completions.New(rig.Patiently(t), openai.CompletionNewParams{
			Model: "model-a", Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("once")},
		})
		if err != nil || !strings.Contains(got.Choices[0].Text, "once") {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("models are listed", func(t *testing.T) {
		t.Parallel()
		page, err := c.Models.List(rig.Patiently(t))
		if err != nil || len(page.Data) == 0 {
			t.Errorf("%v, %v", page, err)
		}
	})
	t.Run("a bad call is an error of the SDK, at once and with its place", func(t *testing.T) {
		t.Parallel()
		_, err := c.Chat.Completions.New(rig.Patiently(t), ask(""), option.WithJSONSet("model", 1))
		told, ok := errors.AsType[*openai.Error](err)
		if !ok || told.StatusCode != http.StatusBadRequest || told.Code != "model_not_string" || told.Param != "model" {
			t.Errorf("%v", err)
		}
	})
	t.Run("what the provider refuses of a row is its error", func(t *testing.T) {
		t.Parallel()
		p := ask("hot")
		p.Temperature = openai.Float(3)
		_, err := c.Chat.Completions.New(rig.Patiently(t), p)
		if told, ok := errors.AsType[*openai.Error](err); !ok || told.StatusCode < 400 || told.Message == "" {
			t.Errorf("%v", err)
		}
	})
}

// both asks once for an answer and once for a stream of it, whose usage is asked for too.
func both(t *testing.T, c openai.Client, p openai.ChatCompletionNewParams) (got *openai.ChatCompletion, streamed *openai.ChatCompletionAccumulator) {
	t.Helper()
	ctx := rig.Patiently(t)
	done := make(chan error, 1)
	go func() {
		var err error
		got, err = c.Chat.Completions.New(ctx, p)
		done <- err
	}()
	q := p
	q.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.Chat.Completions.NewStreaming(ctx, q)
	streamed = &openai.ChatCompletionAccumulator{}
	for stream.Next() {
		if !streamed.AddChunk(stream.Current()) {
			t.Errorf("a chunk is of another answer: %s", stream.Current().RawJSON())
		}
	}
	if err := errors.Join(stream.Err(), <-done); err != nil {
		t.Fatal(err)
	}
	if len(got.Choices) != 1 || len(streamed.Choices) != 1 {
		t.Fatalf("%+v\n%+v", got, streamed)
	}
	return got, streamed
}

func wantResponses(t *testing.T, c openai.Client) {
	t.Helper()
	p := responses.ResponseNewParams{Model: "model-a", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("say it")}}
	stream := c.Responses.NewStreaming(rig.Patiently(t), p)
	var said strings.Builder
	var last responses.ResponseStreamEventUnion
	for n := int64(0); stream.Next(); n++ {
		last = stream.Current()
		if last.SequenceNumber != n {
			t.Errorf("event %d has the number %d", n, last.SequenceNumber)
		}
		if last.Type == "response.output_text.delta" {
			said.WriteString(last.Delta)
		}
	}
	got, err := c.Responses.New(rig.Patiently(t), p)
	if err := errors.Join(err, stream.Err()); err != nil {
		t.Fatal(err)
	}
	if said.String() != got.OutputText() || last.Response.OutputText() != got.OutputText() || last.Type != "response.completed" || said.Len() == 0 {
		t.Errorf("streamed %q, ended with %s %q, and not %q", said.String(), last.Type, last.Response.OutputText(), got.OutputText())
	}
}
