package ingest

import (
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

func snapshotOf(change func(*events.Policy)) *snapshot {
	policy := events.DefaultPolicy()
	if change != nil {
		change(&policy)
	}
	j := jobs.Job{Job: events.Job{Queue: "default", Job: "nightly", Policy: policy}}
	s, err := newSnapshot(&j, j.OpenedAt)
	if err != nil {
		panic(err)
	}
	return s
}

const goodRow = `{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"x"}}`

// outcome is a verdict without what is reused.
type outcome struct {
	line                     int
	id, code, group, dropped string
	payload                  string
}

func judged(r request, p *snapshot, payload string) []outcome {
	var j judge
	var all []outcome
	for v := range j.rows(&r, p, []byte(payload)) {
		if d := v.dead; d != nil {
			all = append(all, outcome{line: d.Line, dropped: d.Code, payload: string(d.Payload)})
			continue
		}
		e := v.entry
		o := outcome{line: e.Line, id: e.CustomID, payload: string(e.Tail)}
		if e.Fault != nil {
			o.code, o.payload = e.Fault.Code, string(e.Fault.Payload)
		} else {
			o.group = e.Group.Window + " " + e.Group.URL + " " + e.Group.Model
		}
		all = append(all, o)
	}
	return all
}

func TestEachRowIsJudgedAlone(t *testing.T) {
	t.Parallel()
	const tail = `,"method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"x"}}`
	const good = "24h /v1/embeddings m"
	noModel := `{"custom_id":"b","method":"POST","url":"/v1/embeddings","body":{"input":"x"}}`
	anonymous := `{"method":"POST","url":"/v1/embeddings","body":{}}`
	pretty := "{\n  \"custom_id\": \"a\",\n  \"method\": \"POST\",\n  \"url\": \"/v1/embeddings\",\n  \"body\": {\"model\": \"m\", \"input\": \"x\"}\n}\n"
	for name, c := range map[string]struct {
		r       request
		policy  func(*events.Policy)
		payload string
		want    []outcome
	}{
		"a good row": {payload: goodRow, want: []outcome{{1, "a", "", good, "", tail}}},
		"a bad row harms no neighbour": {payload: "{\n" + goodRow + "\n\n" + noModel + "\n" + anonymous, want: []outcome{
			{line: 1, dropped: rows.CodeMultilineObject, payload: "{"},
			{2, "a", "", good, "", tail},
			{line: 4, id: "b", code: rows.CodeMissingModel, payload: noModel},
			{line: 5, dropped: rows.CodeMissingCustomID, payload: anonymous},
		}},
		"P88 a pretty object beside rows is refused once": {payload: goodRow + "\n" + pretty + goodRow, want: []outcome{
			{1, "a", "", good, "", tail},
			{line: 2, id: "a", code: rows.CodeMultilineObject, payload: strings.ReplaceAll(strings.TrimSpace(pretty), "\n  ", "\n")},
			{8, "a", "", good, "", tail},
		}},
		"a pretty object is one row": {payload: pretty, want: []outcome{{1, "a", "", good, "", tail}}},
		"lines count from the publisher's first": {
			r: request{firstLine: 100}, payload: "\n" + goodRow, want: []outcome{{101, "a", "", good, "", tail}},
		},
		"the message's window stands in for the job's": {
			r: request{window: "1h"}, payload: goodRow, want: []outcome{{1, "a", "", "1h /v1/embeddings m", "", tail}},
		},
		"an unknown window refuses every row": {
			r: request{window: "2h"}, payload: goodRow + "\n" + noModel + "\n" + anonymous, want: []outcome{
				{line: 1, id: "a", code: events.DLBadWindow, payload: goodRow},
				{line: 2, id: "b", code: events.DLBadWindow, payload: noModel},
				{line: 3, dropped: events.DLBadWindow, payload: anonymous},
			},
		},
		"the policy fills a missing model": {
			policy: func(p *events.Policy) { p.DefaultModel = "d" }, payload: noModel, want: []outcome{
				{1, "b", "", "24h /v1/embeddings d", "", `,"method":"POST","url":"/v1/embeddings","body":{"model":"d","input":"x"}}`},
			},
		},
		"the policy limits the row": {
			policy: func(p *events.Policy) { p.MaxRowBytes = 20 }, payload: goodRow, want: []outcome{
				{line: 1, id: "a", code: rows.CodeRowTooLarge, payload: goodRow},
			},
		},
		"the policy names the urls": {
			policy: func(p *events.Policy) { p.URLs = []string{"/v1/messages"} }, payload: goodRow, want: []outcome{
				{line: 1, id: "a", code: rows.CodeURLNotAllowed, payload: goodRow},
			},
		},
		"blank lines are no rows": {payload: " \n\t\r\n", want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.r.firstLine = max(c.r.firstLine, 1)
			got := judged(c.r, snapshotOf(c.policy), c.payload)
			if len(got) != len(c.want) {
				t.Fatalf("got %+v, want %+v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("row %d: got %+v, want %+v", i, got[i], c.want[i])
				}
			}
		})
	}
}

func TestTheSourceOfARowIsWhereItCameFrom(t *testing.T) {
	t.Parallel()
	stored := at(t, "2026-11-30T02:11:00.000000007Z")
	line := []byte(goodRow)
	source := func(msgID string, ns, seq, number int, data []byte) block.Hash {
		s, _ := sourceOf(originOf(msgID, stored.Add(time.Duration(ns)), uint64(seq)), number, data)
		return s
	}
	base := source("", 0, 5, 1, line)
	if source("", 0, 5, 1, line) != base || source("id", 0, 5, 1, line) != source("id", 9, 6, 1, line) {
		t.Error("the same input has the same source")
	}
	for name, other := range map[string]block.Hash{
		"time": source("", 1, 5, 1, line), "sequence": source("", 0, 6, 1, line), "line": source("", 0, 5, 2, line),
		"bytes": source("", 0, 5, 1, line[1:]), "id": source("id", 0, 5, 1, line),
	} {
		if other == base {
			t.Errorf("another %s has the same source", name)
		}
	}
}

func TestAWholeMessageHasASourceOfItsOwn(t *testing.T) {
	t.Parallel()
	r := request{origin: []string{"id"}, queue: "q", firstLine: 1}
	whole := wholeDeadLetter(&r, refusal{code: events.DLEmpty}, "j", []byte(goodRow), at(t, "2026-11-30T02:11:00Z"))
	row, _ := sourceOf(r.origin, 1, []byte(goodRow))
	if whole.Source == row.String() || whole.Job != "j" || whole.Queue != "q" {
		t.Errorf("got %+v", whole)
	}
}

func TestTheLongestLineThatPublishersSendIsReadAndJudged(t *testing.T) {
	t.Parallel()
	longest := claim{jetstore.Object{Name: "o", Size: client.MaxLineBytes + 1}, true} // and its line feed
	if why := longest.refused(); why != nil {
		t.Errorf("it is refused unread: %s", why.message)
	}
	longest.object.Size += 1 << 10
	if longest.refused() == nil {
		t.Error("nothing bounds what is read")
	}
}
