package chaos_test

import (
	"bytes"
	"net/http"
	"regexp"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/pkg/events"
)

// unread are ended batches whose answers do not come as they should.
func unread() []scenario {
	return []scenario{
		{
			name: "missing",
			madeFor: []failpoint.Point{
				"collector.commit.batch", "collector.call.get_batch", "collector.call.read_results", "collector.nak.events",
			},
			plays: func() []role {
				return []role{{name: "gap", calls: callRead, times: -1, play: edited(withoutLine(`row-3"`))}}
			},
			run:  func(w *world) { w.job("missing", rows("row", "m", 6)) },
			want: expectation{dues: []due{{job: "missing", published: 6, outcomes: map[string]int{"succeeded": 5, "failed": 1}}}},
		},
		{
			name: "closed", madeFor: []failpoint.Point{"collector.commit.batch.needs_attention"},
			plays: func() []role {
				return []role{{name: "closed", calls: callRead, times: -1, play: refuse(http.StatusUnauthorized, "")}}
			},
			run: func(w *world) {
				w.job("closed", rows("row", "m", 3))
				w.event(events.BatchNeedsAttention, "closed")
				w.theatre.end("closed")
			},
			want: expectation{dues: []due{succeed("closed", 3)}, allowed: []events.Kind{events.BatchNeedsAttention}},
		},
		{
			name: "big-answer", madeFor: []failpoint.Point{"collector.publish.object", "collector.publish.object_chunk"},
			run: func(w *world) {
				w.job("big", `{"custom_id":"vector","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"x","dimensions":60000}}`+"\n")
			},
			want: expectation{dues: []due{succeed("big", 1)}},
		},
		reopened(), misaddressed(),
	}
}

// reopened: while an ended batch lacks a row the provider says that it runs again, and then it has the row.
func reopened() scenario {
	again := regexp.MustCompile(`"status":"completed"`)
	return scenario{
		name: "reopened", madeFor: []failpoint.Point{"collector.commit.batch.progress"},
		plays: func() []role {
			return []role{
				{name: "gap", calls: callRead, times: -1, play: edited(withoutLine(`row-1"`))},
				{name: "again", calls: callBatch, times: 1, play: edited(func(body []byte) []byte {
					return again.ReplaceAll(body, []byte(`"status":"in_progress"`))
				})},
			}
		},
		run: func(w *world) {
			w.job("reopened", rows("row", "m", 3))
			w.until("the batch runs again", func() bool { return w.theatre.played("again") > 0 })
			w.theatre.end("gap")
		},
		want: expectation{dues: []due{succeed("reopened", 3)}},
	}
}

// misaddressed: a file holds an answer to a row that nobody sent.
func misaddressed() scenario {
	id := regexp.MustCompile(`"custom_id":"[^"]*"`)
	return scenario{
		name: "misaddressed", madeFor: []failpoint.Point{"collector.commit.batch.orphan_result"},
		plays: func() []role {
			return []role{{name: "stranger", calls: callContent, times: 2, play: edited(func(body []byte) []byte {
				line, _, found := bytes.Cut(body, []byte("\n"))
				if !found {
					return body
				}
				return append(append(id.ReplaceAll(line, []byte(`"custom_id":"77~stranger"`)), '\n'), body...)
			})}}
		},
		run:  func(w *world) { w.job("misaddressed", rows("row", "m", 3)) },
		want: expectation{dues: []due{succeed("misaddressed", 3)}, allowed: []events.Kind{events.BatchOrphanResult}},
	}
}
