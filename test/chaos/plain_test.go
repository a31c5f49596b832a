package chaos_test

import (
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/test/rig"
)

// Odd rows and what becomes of them.
const (
	refusedRow = `{"custom_id":"streamed","method":"POST","url":"/v1/chat/completions","body":{"model":"m","stream":true}}` + "\n"            // rejected
	hotRow     = `{"custom_id":"hot","method":"POST","url":"/v1/chat/completions","body":{"model":"m","temperature":3,"messages":[]}}` + "\n" // failed
	noRow      = "this is no JSON\n"                                                                                                          // a dead letter
)

// plain is a day on which nothing fails: a job in several batches with odd rows, one of raw messages, rows without a job, one too late.
func plain() scenario {
	return scenario{
		name: "plain", limited: true,
		run: func(w *world) {
			w.publish("nightly", nightly())
			w.seal("nightly", 23)
			w.send(events.RequestSubject(rig.Queue, "raw"), rows("raw", "m", 5))
			w.send(events.RequestSubject(rig.Queue, "raw"), rows("more", "m", 2), events.HeaderSeal, "true", events.HeaderExpectedRows, "7")
			w.send("batchbus.requests.default", rows("rolling", "m", 4))
			w.send("batchbus.requests.default.much.too.long", rows("lost", "m", 1))
			if w.event(events.JobDone, "raw") {
				w.send(events.RequestSubject(rig.Queue, "raw"), rows("late", "m", 1))
			}
		},
		want: expectation{dues: []due{
			{
				job: "nightly", published: 23, outcomes: map[string]int{"succeeded": 18, "failed": 1, "rejected": 1},
				letters: map[string]int{"duplicate": 1, "conflict": 1, "invalid_json": 1},
			},
			{job: "raw", published: 8, outcomes: map[string]int{"succeeded": 7}, letters: map[string]int{"job_sealed": 1}},
			{published: 4, outcomes: map[string]int{"succeeded": 4}},
			{job: "_", published: 1, outcomes: map[string]int{}, letters: map[string]int{"bad_subject": 1}},
		}},
	}
}

// nightly are 23 rows: 17 small good ones of three models, a big one, a failing one, a refused one, a duplicate, a conflict and no JSON.
func nightly() string {
	var text strings.Builder
	for i := range 17 {
		text.WriteString(rig.Chat(fmt.Sprintf("row-%d", i), fmt.Sprintf("model-%d", i%3), "question"))
	}
	text.WriteString(rig.Chat("big", "model-0", strings.Repeat("long ", 50_000)))
	text.WriteString(hotRow + refusedRow + noRow)
	text.WriteString(rig.Chat("row-0", "model-0", "question")) // a duplicate
	text.WriteString(rig.Chat("row-1", "model-1", "another"))  // a conflict
	return text.String()
}
