package submit_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

var errReset = errors.New("connection reset by peer")

// reset breaks uploads off when part of their body is sent.
type reset struct {
	base  http.RoundTripper
	left  int   // uploads to break
	after int64 // bytes
}

func (r *reset) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/files") || r.left == 0 {
		return r.base.RoundTrip(request)
	}
	r.left--
	_, err := io.CopyN(io.Discard, request.Body, r.after)
	return nil, errors.Join(errReset, err, request.Body.Close())
}

// P52 and contract 9.8: an upload costs nothing, so one that broke is repeated, and nothing is created before a whole file has its id.
func TestP52Defence9_8AnUploadThatBreaksOffIsRepeatedAndNothingIsCreatedBefore(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2000)
		broken := &reset{base: simulator.Transport{Handler: w.sim}, left: 3}
		broken.after = w.batch("1").Bytes * 6 / 10
		client, err := doubleword.New(doubleword.Config{
			BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("sk-test"), Transport: broken, RetryTimeout: -1,
		})
		w.check(err)
		s := w.process(client, nil)
		if err := s.Submit(w.t.Context(), queue, job, "1"); err == nil {
			t.Fatal("submitted without its file")
		}
		if b := w.batch("1"); b.State != events.BatchPlanned || b.Why != "upload_failed" || b.NextTryAt == nil || !strings.Contains(b.LastError, "reset") {
			t.Errorf("the wait is not to be seen: %+v", b.Batch)
		}
		if got := w.sim.Ledger(); len(got.Creates) != 0 || len(got.Uploads) != 0 {
			t.Errorf("ledger %+v", got)
		}
		b := w.drive(s, "1")
		w.onlyLive(&b)
		if got := w.sim.Ledger(); len(got.Creates) != 1 || len(got.Uploads) != 1 || broken.left != 0 {
			t.Errorf("%d creates, %d uploads", len(got.Creates), len(got.Uploads))
		}
	})
}
