package chaos_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/test/rig"
)

// pathOf names a planned batch at the provider.
func (w *world) pathOf(job, n string) string {
	w.t.Helper()
	busID, err := w.Store.BusID(rig.Patiently(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join([]string{busID, rig.Queue, job, n, ""}, "/")
}

// provider is a client of the test's own, past the stage.
func (w *world) provider() *doubleword.Client {
	w.t.Helper()
	c, err := doubleword.New(doubleword.Config{BaseURL: w.Direct.Provider + "/v1", Key: doubleword.NewSecret(rig.APIKey)})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// slow are batches that take a while, and a provider that says strange things of them meanwhile.
func slow() []scenario {
	return []scenario{
		{
			name: "watched", simulator: []string{"--rows-per-second=3"},
			madeFor: []failpoint.Point{"poller.commit.batch.progress", "poller.call.get_batch", "poller.commit.batch.overdue"},
			run: func(w *world) {
				w.job("watched", rows("row", "m", 14))
				w.event(events.BatchIsSubmitted, "watched")
				w.theatre.begin(role{name: "lag", calls: callList, times: 2, play: nobody})
				w.until("a list lags", func() bool { return w.theatre.played("lag") > 0 })
				expired := regexp.MustCompile(`"expires_at":\d+`)
				w.theatre.begin(role{name: "over", calls: callBatches, times: -1, play: edited(func(body []byte) []byte {
					return expired.ReplaceAll(body, []byte(`"expires_at":1`))
				})})
				w.event(events.BatchOverdue, "watched")
				w.theatre.end("over")
			},
			want: expectation{dues: []due{succeed("watched", 14)}},
		},
		{
			name: "outage", simulator: []string{"--rows-per-second=4"},
			madeFor: []failpoint.Point{"poller.commit.batch", "poller.commit.batch.needs_attention"},
			run: func(w *world) {
				w.job("outage", rows("row", "m", 12))
				w.event(events.BatchIsSubmitted, "outage")
				w.theatre.begin(role{name: "closed", calls: callBatches, times: -1, play: refuse(http.StatusUnauthorized, "")})
				w.event(events.BatchNeedsAttention, "outage")
				w.theatre.end("closed")
				w.event(events.BatchResumed, "outage")
			},
			want: expectation{dues: []due{succeed("outage", 12)}, allowed: []events.Kind{events.BatchNeedsAttention}},
		},
	}
}

// strange: beside a batch that runs somebody makes a second one of its path, and one of a path that was never planned.
func strange() []scenario {
	return []scenario{{
		name: "strange", simulator: []string{"--rows-per-second=3"},
		madeFor: []failpoint.Point{"poller.commit.batch.twin", "poller.commit.batch.orphan_batch"},
		run: func(w *world) {
			w.job("strange", rows("row", "m", 14))
			w.event(events.BatchIsSubmitted, "strange")
			first := w.Ledger().Creates[0]
			twin := w.create(first.InputFileID, first.Metadata)
			orphan := w.create(first.InputFileID, map[string]string{pathKey: w.pathOf("strange", "99")})
			w.event(events.BatchTwin, "strange")
			w.event(events.BatchOrphan, "strange")
			w.cancel(twin)
			w.cancel(orphan)
		},
		want: expectation{dues: []due{succeed("strange", 14)}, allowed: []events.Kind{events.BatchTwin, events.BatchOrphan}, strangers: true},
	}}
}

// create makes a batch past all of batchbus.
func (w *world) create(fileID string, metadata map[string]string) (id string) {
	w.t.Helper()
	b, err := w.provider().CreateBatch(rig.Patiently(w.t), doubleword.NewBatch{
		InputFileID: fileID, Endpoint: "/v1/chat/completions", CompletionWindow: "24h", Metadata: metadata,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.ID
}

// upload stores an input file past all of batchbus.
func (w *world) upload(text string) (id string) {
	w.t.Helper()
	f, err := w.provider().UploadFile(rig.Patiently(w.t), "foreign.jsonl", func(file io.Writer) error {
		_, err := io.WriteString(file, text)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return f.ID
}

func (w *world) cancel(id string) {
	w.t.Helper()
	if _, err := w.provider().CancelBatch(rig.Patiently(w.t), id); err != nil {
		w.t.Fatal(err)
	}
}
