package timewarp_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// upload uploads an input file of one row as a process would that dies right after, and returns its id.
func (w *world) upload(name string) string {
	w.t.Helper()
	client, err := doubleword.New(doubleword.Config{
		BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("time"), Transport: simulator.Transport{Handler: w.sim},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	f, err := client.UploadFile(w.t.Context(), name, func(out io.Writer) error {
		_, err := io.WriteString(out, `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}}`)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return f.ID
}

func TestAnInputFileThatNothingRefersToIsGoneWhenItIsOld(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Config{}, 0, func(w *world) {
		o := w.options()
		o.Settings.OrphanAge, o.Settings.OrphanInterval = time.Hour, 10*time.Minute
		ctx, stop := context.WithCancel(w.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx, o) }()
		busID, err := w.Store.BusID(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		w.publish("live", "row", 3, events.HeaderSeal, "true")
		orphan := w.upload(submit.FilePrefix(busID) + "default.live.1.1.jsonl")
		pass(59 * time.Minute)
		if got := len(w.sim.Ledger().Deletes); got != 0 || w.results("live") != 3 {
			w.t.Errorf("%d files deleted within the hour, %d results", got, w.results("live"))
		}
		pass(20 * time.Minute)
		if deletes := w.sim.Ledger().Deletes; len(deletes) != 1 || deletes[0].ID != orphan {
			w.t.Errorf("deleted %+v, want %s alone", deletes, orphan)
		}
		stop()
		if err := <-ended; err != nil {
			w.t.Errorf("run: %v", err)
		}
	})
}
