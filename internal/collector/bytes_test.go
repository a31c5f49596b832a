package collector_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestAnswersComeOutByteForByte(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"a-number":    `{"n":9007199254740993,"f":1.0,"e":1E5,"x":1e400}`,
		"b-escapes":   `{"s":"<>&\u003c\/\ud83d"}`,
		"c-separator": "{\"s\":\"a\u2028b\u2029c\u0085d\x7f\"}",
		"d-spaces":    `{ "a" :  [ 1 , 2 ] }`,
		"e-string":    `"data: {\"not\": \"json\"}"`,
		"f-big":       answerBody(strings.Repeat("x", 9<<20), 10),
	}
	ids := []string{"a-number", "b-escapes", "c-separator", "d-spaces", "e-string", "f-big"}
	inWorld(t, ids, func(w *world) {
		for place, id := range ids {
			w.out.lines = append(w.out.lines, okLine(w.wire(place), bodies[id]))
		}
		w.finish("completed", len(ids), 0)
		w.untilSettled(w.service(nil))
		results := w.results()
		for id, body := range bodies {
			if sha256.Sum256(results[id].Response) != sha256.Sum256([]byte(body)) {
				t.Errorf("%s: answer differs, %d bytes for %d", id, len(results[id].Response), len(body))
			}
		}
		if _, external := jetstore.ObjectOf(results["f-big"].header); !external {
			t.Error("the big answer is in no object")
		}
		w.want("usage of the big one", *results["f-big"].Usage, events.Usage{PromptTokens: 1, CompletionTokens: 10, TotalTokens: 11})
	})
}

func TestALineTooLongForMemoryIsStreamedToAnObject(t *testing.T) {
	t.Parallel()
	inWorld(t, named(3), func(w *world) {
		s := w.service(func(c *collector.Config) { c.MaxAnswerBytes = 1000 })
		body := answerBody(strings.Repeat(`a}"]\`, 2000), 10)
		w.answers(0)
		w.out.lines = append(w.out.lines, okLine(w.wire(1), body))
		w.answers(2)
		w.finish("completed", 3, 0)
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 3})
		r := w.results()["row-00001"]
		if string(r.Response) != body {
			t.Errorf("answer of %d bytes differs from the %d sent", len(r.Response), len(body))
		}
		if _, external := jetstore.ObjectOf(r.header); !external {
			t.Error("the long answer is in no object")
		}
	})
}

func TestALongLineThatBreaksOffIsReadAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ missing, results int }{
		"in the answer": {missing: 5000}, "behind the answer": {missing: 5, results: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(1), func(w *world) {
				s := w.service(func(c *collector.Config) { c.MaxAnswerBytes = 1000 })
				w.out.lines = []string{okLine(w.wire(0), answerBody(strings.Repeat("a", 9000), 10))}
				w.out.cutAfter = len(w.out.lines[0]) - c.missing
				if _, err := s.Collect(w.ctx(), queue, job, "1"); err == nil {
					t.Error("a cut line is no error")
				}
				w.want("results", len(w.results()), c.results)
				w.want("lines", w.cursor().OutputLines, 0)
				w.out.cutAfter = 0
				w.collect(s)
				w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 1})
				w.want("lines", w.cursor().OutputLines, 1)
			})
		})
	}
}

func TestAnErrorTooBigForAMessage(t *testing.T) {
	t.Parallel()
	inWorld(t, named(1), func(w *world) {
		page := strings.Repeat("<p>sorry</p>", 1<<20)
		w.errs.lines = []string{`{"id":"r","custom_id":"0~row-00000","response":null,"error":{"code":"big","message":` + quote(page) + `}}`}
		w.finish("failed", 0, 1)
		w.untilSettled(w.service(nil))
		r := w.results()["row-00000"]
		w.want("error is whole", strings.Contains(r.Error.Raw, page), true)
		if _, external := jetstore.ObjectOf(r.header); !external {
			t.Error("the big error is in no object")
		}
	})
}

func TestALongLineWithoutAnAnswerIsAFailureThatSaysSo(t *testing.T) {
	t.Parallel()
	inWorld(t, named(1), func(w *world) {
		s := w.service(func(c *collector.Config) { c.MaxAnswerBytes = 1000 })
		w.errs.lines = []string{`{"custom_id":"0~row-00000","response":null,"error":{"message":"` + strings.Repeat("x", 2000) + `"}}`}
		w.finish("failed", 0, 1)
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"failed answer_too_large": 1})
	})
}
