package integration_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// drawn is one row of the property: the body as published, and the answer as the provider will write it.
type drawn struct{ body, answer string }

func anyRow(t *rapid.T) drawn {
	own := members(3).Draw(t, "members")
	own = append(own, rapid.SampledFrom([]string{`"model":"m"`, `"model" : "m"`, `"mod\u0065l":"m"`, `"model":"n","model":"m"`}).Draw(t, "model"))
	own = append(own, `"messages":[{"role":"user","content":`+text().Draw(t, "content")+`}]`)
	gap := rapid.StringMatching(`[ \t\r]{0,2}`)
	body := "{" + gap.Draw(t, "gap") + strings.Join(rapid.Permutation(own).Draw(t, "order"), gap.Draw(t, "gap")+","+gap.Draw(t, "gap")) + "}"
	return drawn{body, rapid.OneOf(value(3), rapid.SampledFrom(nasty())).Draw(t, "answer")}
}

// answers are what the provider says, shared with its handler.
type answers struct {
	mu   sync.Mutex
	byID map[string]string
}

func (a *answers) get(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byID[id]
}

func (a *answers) set(id, answer string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.byID[id] = answer
}

// TestAnyBodyAndAnyAnswerPassByteForByte draws the rows of a job, runs it, and compares both ends by SHA-256. A difference is shrunk: each
// try is another job on the same stack. TestMain sets how many jobs there are; -rapid.checks asks for more.
func TestAnyBodyAndAnyAnswerPassByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{})
	said := &answers{byID: map[string]string{}}
	w.provider.answer = said.get
	s := w.start()
	jobs := 0
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(anyRow), 1, 40).Draw(t, "rows")
		jobs++
		job := fmt.Sprintf("drawn-%d", jobs)
		var lines []string
		for i, row := range all {
			id := fmt.Sprintf("%s-%d", job, i)
			said.set(id, row.answer)
			lines = append(lines, `{"body":`+row.body+`,"url":"/v1/chat/completions" ,"custom_id":"`+id+`","method":"POST"}`)
		}
		s.publish(job, strings.Join(lines, "\n"))
		s.awaitEvent(events.JobDone, job)
		sent, results := w.provider.sent(), s.results(job)
		for i, row := range all {
			id := fmt.Sprintf("%s-%d", job, i)
			r, answered := results[id]
			if !answered {
				t.Fatalf("row %d has no result", i)
			}
			sameBytes(t, "body", sent[id], row.body)
			sameBytes(t, "answer", string(r.Response), strings.TrimPrefix(row.answer, "null")) // null is no answer
		}
	})
}
