package submit_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// resumed is what the control API makes of a batch whose hold ends.
func resumed(b *jobs.Batch) { b.Hold, b.Why, b.NextTryAt, b.LastError = nil, "", nil, "" }

// logging is a process that writes a log.
func (w *world) logging(p submit.Provider) (*bytes.Buffer, *submit.Submitter) {
	var log bytes.Buffer
	return &log, w.process(p, func(c *submit.Config) { c.Log = zerolog.New(&log) })
}

// upTo refuses files over a number of bytes, in the provider's words.
func upTo(most int) func([]byte) error {
	return func(file []byte) error {
		if len(file) <= most {
			return nil
		}
		return refusal(413, fmt.Sprintf("File size exceeds the maximum allowed size of %d bytes", most))
	}
}

// D18, contract 9.20: limits are settings of the provider, learnt from its refusals.
func TestABatchOverTheLimitIsSplitByItAndLaterOnesBeforeTheirUpload(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1000, 1000)
		limit := int(w.batch("1").Bytes)*4/10 + 3
		p := &picky{Provider: w.client, refuse: upTo(limit)}
		s := w.process(p, nil)
		running, rows := w.driveAll(s, "1")
		if !slices.Equal(running, []string{"1-1", "1-2", "1-3"}) || rows != 1000 || p.uploads != 4 {
			t.Errorf("batches %v run with %d rows after %d uploads, want three parts after one refusal", running, rows, p.uploads)
		}
		running, rows = w.driveAll(s, "2")
		if !slices.Equal(running, []string{"2-1", "2-2", "2-3"}) || rows != 1000 || p.uploads != 7 {
			t.Errorf("batches %v run with %d rows after %d uploads, want none refused", running, rows, p.uploads)
		}
		if b := w.batch("2"); b.State != events.BatchRefused || b.Why != "too_large" || len(w.results()) != 0 {
			t.Errorf("state %+v", b.Batch)
		}
	})
}

func TestALimitIsLearnedAnewByAnotherProcessAndAfterAnHour(t *testing.T) {
	t.Parallel()
	for name, another := range map[string]bool{"another process": true, "an hour later": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{}, func(w *world) {
				w.plan(40, 40)
				p := &picky{Provider: w.client, refuse: upTo(int(w.batch("1").Bytes) - 1)}
				s := w.process(p, nil)
				w.driveAll(s, "1")
				p.refuse = upTo(1 << 30) // the provider has raised its limit
				if another {
					s = w.process(p, nil)
				} else {
					pass(time.Hour)
				}
				b := w.drive(s, "2")
				w.onlyLive(&b)
			})
		})
	}
}

func TestALimitOfRowsIsKeptToAsWell(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{MaxRows: 15}, func(w *world) {
		w.plan(40, 40)
		s := w.process(w.client, nil)
		for _, n := range []string{"1", "2"} {
			if running, rows := w.driveAll(s, n); len(running) != 3 || rows != 40 {
				t.Errorf("batches %v run with %d rows", running, rows)
			}
		}
		if calls := w.sim.Ledger().Calls["POST /v1/files"]; calls != 7 {
			t.Errorf("%d uploads, want one refused and six taken", calls)
		}
	})
}

func TestARowOverTheProvidersLimitIsRejectedAndTheRestRuns(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(3)
		line := int(w.batch("1").Bytes) / 3
		p := &picky{Provider: w.client, refuse: func(file []byte) error {
			if bytes.Contains(file, []byte("~row-1-1\"")) {
				return upTo(line - 10)(file) // as if this row were longer
			}
			return nil
		}}
		_, rows := w.driveAll(w.process(p, nil), "1")
		results := w.results()
		if r := results["row-1-1"]; rows != 2 || len(results) != 1 || r.Outcome != events.Rejected || r.Error.StatusCode != 413 {
			t.Errorf("%d rows run, results %+v", rows, results)
		}
	})
}

func TestAFileOfExactlyTheProvidersLimitIsTakenAndOneByteMoreIsNot(t *testing.T) {
	t.Parallel()
	var size int64
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(40)
		size = w.batch("1").Bytes
	})
	for name, c := range map[string]struct{ limit, files int64 }{"exactly": {size, 1}, "a byte less": {size - 1, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{MaxFileBytes: c.limit}, func(w *world) {
				w.plan(40)
				running, rows := w.driveAll(w.process(w.client, nil), "1")
				if int64(len(running)) != c.files || rows != 40 {
					t.Errorf("batches %v run with %d rows", running, rows)
				}
				if most := w.sim.Ledger().Uploads[0].Bytes; most > c.limit || c.files == 1 && most != size {
					t.Errorf("the first file has %d bytes of %d", most, c.limit)
				}
			})
		})
	}
}
