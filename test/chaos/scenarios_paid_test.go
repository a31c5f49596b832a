package chaos_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/pkg/events"
)

// job publishes a sealed job.
func (w *world) job(name, text string) {
	w.t.Helper()
	w.publish(name, text)
	w.seal(name, strings.Count(text, "\n"))
}

// succeed is a job all of whose rows succeed.
func succeed(job string, n int) due {
	return due{job: job, published: n, outcomes: map[string]int{"succeeded": n}}
}

// starts are the same little job, each with another service that is alone on an empty bus first.
func starts() (all []scenario) {
	for _, service := range []string{"ingest", "submitter", "poller", "collector"} {
		all = append(all, scenario{
			name: "started-" + service, first: service, madeFor: []failpoint.Point{failpoint.Point(service + ".commit.bus_id")},
			run:  func(w *world) { w.job("little", rows("row", "m", 2)) },
			want: expectation{dues: []due{succeed("little", 2)}},
		})
	}
	return all
}

// three are rows of three models, which are three batches.
func three(n int) string {
	return rows("a", "model-a", n) + rows("b", "model-b", n) + rows("c", "model-c", n)
}

// unanswered are courses in which a paid create has no answer.
func unanswered() []scenario {
	return []scenario{
		{
			// Of three creates one is done and its answer lost, one never arrives, and the answer to the delete of its file is lost.
			name: "unanswered", limited: true,
			madeFor: []failpoint.Point{
				"submitter.commit.batch.fencing", "submitter.call.delete_file", "submitter.call.list_files", "submitter.call.create_batch",
				"submitter.commit.batch.creating", "submitter.commit.batch.submitted",
			},
			plays: func() []role {
				return []role{
					{name: "lost answer", calls: callCreate, times: 1, play: swallow},
					{name: "lost call", calls: callCreate, times: 1, play: refuse(http.StatusGatewayTimeout, "")},
					{name: "lost delete", calls: callDelete, times: 1, play: swallow},
				}
			},
			run:  func(w *world) { w.job("unanswered", three(4)) },
			want: expectation{dues: []due{succeed("unanswered", 12)}},
		},
		fenced(), zombie(),
	}
}

// fenced: the list does not show the batch of a lost answer until its file is deleted, which stops it in the middle: it is adopted with what it
// ran, and a follow-up runs the rest.
func fenced() scenario {
	return scenario{
		name: "fenced", limited: true, simulator: []string{"--rows-per-second=5"},
		plays: func() []role {
			return []role{
				{name: "lost answer", calls: callCreate, times: 1, play: swallow},
				{name: "lag", calls: callList, times: -1, play: nobody},
			}
		},
		run: func(w *world) {
			w.job("fenced", rows("row", "m", 16))
			w.until("the old input file is deleted", func() bool { return len(w.Ledger().Deletes) > 0 })
			w.theatre.end("lag")
		},
		want: expectation{dues: []due{succeed("fenced", 16)}, allowed: []events.Kind{events.BatchTwin}},
	}
}

// zombie: the provider says that it has deleted the file and has not, so that the batch of a lost answer runs on: it is cancelled, and adopted
// with what it ran.
func zombie() scenario {
	lie := func(w http.ResponseWriter, r *http.Request, _ func() *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"`+r.URL.Path[len("/v1/files/"):]+`","object":"file","deleted":true}`)
	}
	return scenario{
		name: "zombie", simulator: []string{"--rows-per-second=5"},
		madeFor: []failpoint.Point{"submitter.commit.batch.twin"},
		plays: func() []role {
			return []role{
				{name: "lost answer", calls: callCreate, times: 1, play: swallow},
				{name: "lag", calls: callList, times: -1, play: nobody},
				{name: "delete", calls: callDelete, times: 1, play: lie},
			}
		},
		run: func(w *world) {
			w.job("zombie", rows("row", "m", 24))
			w.until("the old input file is said to be deleted", func() bool { return w.theatre.played("delete") > 0 })
			w.theatre.end("lag")
		},
		want: expectation{dues: []due{succeed("zombie", 24)}, allowed: []events.Kind{events.BatchTwin}},
	}
}

// fussy refuses the row b-1 wherever it meets it, the row odd-2 without naming it, and files of four rows of model-c.
func fussy(w http.ResponseWriter, r *http.Request, pass func() *httptest.ResponseRecorder) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch {
	case bytes.Contains(body, []byte(`~b-1"`)):
		refuse(http.StatusBadRequest, "Line 2: the row is odd")(w, r, pass)
	case bytes.Contains(body, []byte(`~odd-2"`)):
		refuse(http.StatusUnprocessableEntity, "this model cannot do that")(w, r, pass)
	case bytes.Count(body, []byte(`~c-`)) > 3:
		refuse(http.StatusRequestEntityTooLarge, "File size exceeds the limit")(w, r, pass)
	default:
		edited(func(answer []byte) []byte { return answer })(w, r, pass)
	}
}

// refusals: the provider refuses one row, one file as too large, and one upload for a moment.
func refusals() []scenario {
	return []scenario{
		{
			name: "refused", madeFor: []failpoint.Point{"submitter.commit.batch.refused", "submitter.publish.results"},
			plays: func() []role { return []role{{name: "rules", calls: callUpload, times: -1, play: fussy}} },
			run: func(w *world) {
				w.job("refused", three(4)+refusedRow+strings.ReplaceAll(refusedRow, "streamed", "again"))
			},
			want: expectation{dues: []due{{job: "refused", published: 14, outcomes: map[string]int{"succeeded": 11, "rejected": 3}}}},
		},
		{
			// A provider that refuses a row once and takes it the next time: what becomes of the row depends on when we die.
			name: "refused-once",
			plays: func() []role {
				return []role{{name: "line", calls: callUpload, times: 1, play: refuse(http.StatusBadRequest, "Line 2: the row is odd")}}
			},
			run:  func(w *world) { w.job("once", rows("row", "m", 4)) },
			want: expectation{dues: []due{{job: "once", published: 4}}},
		},
		{
			// The row is searched for by uploads of parts.
			name:  "refused-unnamed",
			plays: func() []role { return []role{{name: "rules", calls: callUpload, times: -1, play: fussy}} },
			run:   func(w *world) { w.job("unnamed", rows("odd", "m", 6)) },
			want:  expectation{dues: []due{{job: "unnamed", published: 6, outcomes: map[string]int{"succeeded": 5, "rejected": 1}}}},
		},
		{
			name: "upload-failed", madeFor: []failpoint.Point{"submitter.commit.batch", "submitter.nak.events"},
			plays: func() []role {
				return []role{{name: "down", calls: callUpload, times: 1, play: refuse(http.StatusBadGateway, "")}}
			},
			run:  func(w *world) { w.job("waiting", rows("row", "m", 3)) },
			want: expectation{dues: []due{succeed("waiting", 3)}},
		},
		{
			// A job that has no batch: its submitter completes it.
			name: "all-refused", madeFor: []failpoint.Point{"submitter.commit.job.completed"},
			run:  func(w *world) { w.job("nothing", refusedRow) },
			want: expectation{dues: []due{{job: "nothing", published: 1, outcomes: map[string]int{"rejected": 1}}}},
		},
	}
}
