package collector_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// tries collects as hints and sweeps do: what the provider makes of it is no error of ours.
func (w *world) tries(s *collector.Service) {
	w.t.Helper()
	_, _ = s.Collect(w.ctx(), queue, job, "1") // a short body is one, and said in the state
}

func TestACursorThatIsHonouredTwiceLosesNoRow(t *testing.T) { // D3: skip and offset are both sent
	t.Parallel()
	inWorld(t, named(20), func(w *world) {
		s := w.service(nil)
		w.out.skipTwice = true
		w.answers(0, 1, 2, 3, 4, 5)
		w.tries(s)
		w.answers(6, 7, 8, 9, 10, 11, 12)
		w.tries(s)
		w.tries(s)
		w.answers(13, 14, 15, 16, 17, 18, 19)
		w.finish("completed", 20, 0)
		w.want("time to settle", w.untilSettled(s), time.Duration(0))
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 20})
		w.want("tokens", w.batch().Totals.Usage.CompletionTokens, 200)
	})
}

func TestAnIncompleteHeaderForEverHoldsNothingUp(t *testing.T) { // contract 9.4
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.out.incomplete, w.errs.incomplete = true, true
		w.answers(0, 1)
		w.finish("completed", 2, 0)
		w.want("time to settle", w.untilSettled(w.service(nil)), time.Duration(0))
	})
}

func TestABatchStoppedBeforeItHadRowsEndsThoughItsFilesNeverDo(t *testing.T) { // contract 9.4, 9.10
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.out.incomplete, w.errs.incomplete = true, true
		w.finish("cancelling", 0, 0)
		w.want("time to settle", w.untilSettled(w.service(nil)), time.Hour)
		w.want("outcomes", w.outcomes(), map[string]int{"cancelled job_cancelled": 2})
	})
}

func TestABatchThatFailedWithoutAnyFileEndsEachRowWithItsMessage(t *testing.T) { // P3, P5, P13
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.edit(events.BatchProgress, func(b *events.Batch) { b.OutputFileID, b.ErrorFileID = "", "" })
		s := w.service(nil)
		w.collect(s) // no ids while it runs: nothing to read, and no error
		w.want("why", w.batch().LastError, "")
		w.retries(2, events.RetryFailed, events.RetryMissingResult)
		w.p.change(func() {
			w.p.batch.Errors = []doubleword.BatchError{{Code: "invalid_file", Message: "line 1 is no JSON"}}
		})
		w.finish("failed", 0, 0)
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"failed invalid_file": 2})
		w.want("follow-ups", len(w.batch().FollowUps), 0)
		w.want("message, retryable", []any{w.results()["row-00000"].Error.Message, w.results()["row-00000"].Error.Retryable}, []any{"line 1 is no JSON", false})
		for _, call := range w.p.calls {
			if strings.HasPrefix(call, " ") {
				t.Error("content of no file was asked for")
			}
		}
	})
}

func TestEachOddAnswerEndsAsWhatItIs(t *testing.T) { // P8, P10, P74, contract 9.14
	t.Parallel()
	for name, c := range map[string]struct {
		line, want string
		response   string
		truncated  bool
		finish     string
	}{
		"finish_reason null": {
			line: okLine("0~a", `{"choices":[{"finish_reason":null,"message":{"content":"half"}}]}`), want: "succeeded",
			response: `{"choices":[{"finish_reason":null,"message":{"content":"half"}}]}`,
		},
		"finish_reason length, no content": {
			line: okLine("0~a", `{"choices":[{"finish_reason":"length","message":{"content":""}}]}`), want: "succeeded", truncated: true, finish: "length",
			response: `{"choices":[{"finish_reason":"length","message":{"content":""}}]}`,
		},
		"a string body":        {line: okLine("0~a", `"data: {\"x\":\u0031}\n\n"`), want: "succeeded", response: `"data: {\"x\":\u0031}\n\n"`},
		"a null body":          {line: okLine("0~a", `null`), want: "failed malformed_result"},
		"neither":              {line: `{"id":"r","custom_id":"0~a"}`, want: "failed malformed_result"},
		"an HTML page":         {line: errorLine("0~a", `{"type":"RetriableHttpStatus","details":{"status":502,"body":"<html>Bad Gateway</html>"}}`), want: "failed RetriableHttpStatus"},
		"Unknown error":        {line: errorLine("0~a", "Unknown error"), want: "failed provider_error"},
		"plain text, 403":      {line: errorLine("0~a", noAccess), want: "failed access_lost"},
		"402 three layers in":  {line: errorLine("0~a", noCredit), want: "failed out_of_credit"},
		"402 in the response":  {line: strings.Replace(okLine("0~a", `{"error":{"message":"pay"}}`), "200", "402", 1), want: "failed out_of_credit", response: `{"error":{"message":"pay"}}`},
		"400 with error null":  {line: strings.Replace(okLine("0~a", `{"error":{"code":"unsupported_parameter","message":"no"}}`), "200", "400", 1), want: "failed unsupported_parameter", response: `{"error":{"code":"unsupported_parameter","message":"no"}}`},
		"an answer and {} too": {line: strings.Replace(okLine("0~a", `{"x":1}`), `"error":null`, `"error":{}`, 1), want: "succeeded", response: `{"x":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, []string{"a"}, func(w *world) {
				w.out.lines = []string{c.line}
				w.finish("completed", 1, 0)
				w.untilSettled(w.service(nil))
				w.want("outcomes", w.outcomes(), map[string]int{c.want: 1})
				r := w.results()["a"]
				w.want("response", string(r.Response), c.response)
				w.want("truncated, finish reason", []any{r.Truncated, r.FinishReason}, []any{c.truncated, c.finish})
				if r.Error != nil && r.Error.Raw == "" {
					t.Error("the provider's own words are lost")
				}
			})
		})
	}
}

func TestTwoDifferentAnswersForOneIDAreOneResult(t *testing.T) { // contract 9.13: the first wins
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.answers(0)
		w.out.lines = append(w.out.lines, okLine(w.wire(0), answerBody("another", 99)), okLine(w.wire(1), `{}`))
		w.errs.lines = []string{failLine(w.wire(0))}
		w.finish("completed", 2, 1)
		w.untilSettled(w.service(nil))
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2})
		w.want("tokens", w.batch().Totals.Usage.CompletionTokens, 10)
	})
}

func TestFilesThatFailThreeTimesAreReadThenAndNothingIsSentAgain(t *testing.T) { // P37
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.retries(2, events.RetryMissingResult, events.RetryFailed)
		s := w.service(nil)
		w.answers(0, 1)
		w.finish("completed", 2, 0)
		w.out.err = &doubleword.Error{Status: 500, Class: doubleword.Retryable}
		for range 3 {
			wait, err := s.Collect(w.ctx(), queue, job, "1")
			if e := (*doubleword.Error)(nil); err != nil && !errors.As(err, &e) {
				t.Fatal(err)
			}
			pass(max(wait, time.Second))
		}
		w.want("results", len(w.results()), 0)
		w.out.err = nil
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 2})
		w.want("follow-ups", len(w.batch().FollowUps), 0)
	})
}
