package submit_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

func uploadRefused(status int, text string, count int) simulator.Config {
	return simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultUploadRefused, Status: status, Text: text, Count: count}}}
}

func createRefused(status int, text string, count int) simulator.Config {
	return simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultCreateRefused, Status: status, Text: text, Count: count}}}
}

// D8: one bad row aborts an upload, and costs itself alone.
func TestARefusedRowIsRejectedAndTheRestRuns(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]simulator.Config{
		"when the upload is refused": uploadRefused(400, "Line 2: the row is odd", 1),
		"when the create is refused": createRefused(422, "Line 2 (custom_id '1~row-1-1'): the row is odd", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, cfg, func(w *world) {
				w.plan(3)
				s := w.process(w.client, nil)
				parent := w.drive(s, "1")
				if parent.State != events.BatchRefused || !slices.Equal(parent.FollowUps, []string{"1-1"}) {
					t.Fatalf("state %+v", parent.Batch)
				}
				if got := *parent.Totals; got.Rows != 1 || got.Rejected != 1 {
					t.Errorf("totals %+v", got)
				}
				child := w.drive(s, "1-1")
				w.onlyLive(&child)
				if child.Rows != 2 || child.LineRefusals != 1 {
					t.Errorf("follow-up %+v", child.Batch)
				}
				results := w.results()
				got := results["row-1-1"]
				if len(results) != 1 || got.Outcome != events.Rejected || got.Error.Code != events.CodeRefusedRow || got.Error.Line != 2 ||
					!strings.HasPrefix(got.Error.Message, "Line 2") || got.Attempt != 1 || got.Batch != "1" {
					t.Errorf("results %+v, error %+v", results, got.Error)
				}
			})
		})
	}
}

func TestWhatTheProviderSaysOfARowReachesItsResultAndNoLog(t *testing.T) {
	t.Parallel()
	bubble(t, uploadRefused(400, "Line 1: cannot fetch https://secret.example", 1), func(w *world) {
		w.plan(2)
		var log bytes.Buffer
		s := w.process(w.client, func(c *submit.Config) { c.Log = zerolog.New(&log) })
		b := w.drive(s, "1")
		if strings.Contains(log.String(), "secret") || strings.Contains(string(b.Encode()), "secret") {
			t.Errorf("log %s state %+v", log.String(), b.Batch)
		}
		if r := w.results()["row-1-0"]; r.Error == nil || !strings.Contains(r.Error.Message, "secret") {
			t.Errorf("result %+v", r)
		}
	})
}

func TestOneLineOfFollowUpsEndsInAHold(t *testing.T) {
	t.Parallel()
	bubble(t, uploadRefused(400, "Line 1: odd", -1), func(w *world) {
		w.plan(25)
		s := w.process(w.client, nil)
		n := "1"
		for range 20 {
			if b := w.drive(s, n); b.State != events.BatchRefused {
				t.Fatalf("batch %s: %+v", n, b.Batch)
			}
			n += "-1"
		}
		b := w.drive(s, n)
		if b.Hold == nil || b.Hold.Code != events.HoldLineRefusals || b.LineRefusals != 20 || b.Rows != 5 || strings.Contains(b.Hold.Message, "odd") {
			t.Errorf("state %+v hold %+v", b.Batch, b.Hold)
		}
	})
}

// P75, D19: a model that the key may not use aborts the upload.
func TestARefusedModelRejectsTheWholeBatchAndCompletesTheJob(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{Models: []string{"another"}}, func(w *world) {
		w.plan(3)
		b := w.drive(w.process(w.client, nil), "1")
		if b.State != events.BatchRefused || len(b.FollowUps) != 0 || b.Totals.Rejected != 3 {
			t.Errorf("state %+v", b.Batch)
		}
		if results := w.results(); len(results) != 3 {
			t.Errorf("results %+v", results)
		}
		j, err := w.jobs.Job(w.t.Context(), queue, job)
		w.check(err)
		if j.State != events.JobCompleted || j.Totals.Rejected != 3 {
			t.Errorf("job %+v", j.Job)
		}
	})
}

func TestATooLargeBatchIsSplitInTwo(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{MaxRows: 2}, func(w *world) {
		w.plan(3)
		s := w.process(w.client, nil)
		parent := w.drive(s, "1")
		if parent.State != events.BatchRefused || len(parent.FollowUps) != 2 || parent.Totals.Rows != 0 {
			t.Fatalf("state %+v totals %+v", parent.Batch, parent.Totals)
		}
		rows := 0
		for _, n := range parent.FollowUps {
			child := w.drive(s, n)
			w.onlyLive(&child)
			rows += child.Rows
		}
		if rows != 3 || len(w.results()) != 0 {
			t.Errorf("%d rows in follow-ups, results %v", rows, w.results())
		}
	})
}

// Contract 9.9: the kinds of 429 are told apart by their text.
func TestTimeCuresA429OfEachKind(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		simulator.TextUploadSlots: "upload_slots", simulator.TextCapacity: "capacity", simulator.TextUnverified: "unverified_quota",
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			cfg := createRefused(429, text, 2)
			if why == "upload_slots" {
				cfg = uploadRefused(429, text, 2)
			}
			bubble(t, cfg, func(w *world) {
				w.plan(1)
				s := w.process(w.client, nil)
				if err := s.Submit(w.t.Context(), queue, job, "1"); err == nil {
					t.Fatal("submitted through a 429")
				}
				b := w.batch("1")
				if b.Why != why || b.NextTryAt == nil || !b.NextTryAt.After(time.Now()) || b.LastError == "" {
					t.Errorf("the wait is not to be seen: %+v", b.Batch)
				}
				b = w.drive(s, "1")
				w.onlyLive(&b)
				if got := w.sim.Ledger().Calls["POST /v1/batches"] + w.sim.Ledger().Calls["POST /v1/files"]; got != 4 {
					t.Errorf("%d uploads and creates, want 3 and 1", got)
				}
			})
		})
	}
}

func TestAnyOtherRefusalIsAVisibleHold(t *testing.T) {
	t.Parallel()
	bubble(t, createRefused(403, "Insufficient permissions to do that", 1), func(w *world) {
		w.plan(1)
		b := w.drive(w.process(w.client, nil), "1")
		if b.Hold == nil || b.Hold.Code != events.HoldRefused || !strings.Contains(b.Hold.Message, "Insufficient permissions") {
			t.Errorf("hold %+v", b.Hold)
		}
	})
}

func TestRowsThatAreGoneHoldTheBatchAndLeaveNoFile(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2)
		w.edit("1", func(b *jobs.Batch) { b.Digest = strings.Repeat("0", 64) })
		b := w.drive(w.process(w.client, nil), "1")
		if b.Hold == nil || b.Hold.Code != events.HoldRowsOlder || len(w.sim.Ledger().Uploads) != 0 {
			t.Errorf("hold %+v, uploads %+v", b.Hold, w.sim.Ledger().Uploads)
		}
	})
}

func TestABatchWithoutItsKeyIsHeldUntilTheKeyIsBack(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		here := false
		s := w.process(nil, func(c *submit.Config) {
			c.Provider = func(string) (submit.Provider, bool) { return w.client, here }
		})
		b := w.drive(s, "1")
		if b.Hold == nil || b.Hold.Code != events.HoldKeyMissing {
			t.Fatalf("hold %+v", b.Hold)
		}
		here = true
		w.check(s.Sweep(w.t.Context()))
		b = w.batch("1")
		w.onlyLive(&b)
		if b.Hold != nil || !slices.Contains(w.kinds("1"), events.BatchResumed) {
			t.Errorf("hold %+v, events %v", b.Hold, w.kinds("1"))
		}
	})
}

func TestABusThatIsOlderThanTheWorldHoldsAndPostsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2)
		s := w.process(w.client, nil)
		first := w.drive(s, "1")
		for name, set := range map[string]func(*jobs.Batch){
			"planned":  func(b *jobs.Batch) { b.State, b.FileID = events.BatchPlanned, "" },
			"uploaded": func(b *jobs.Batch) { b.State, b.Hold = events.BatchUploaded, nil },
			"creating": func(b *jobs.Batch) { b.State, b.Hold = events.BatchCreating, nil },
		} {
			w.edit("1", func(b *jobs.Batch) {
				set(b)
				b.ProviderBatchID, b.Digest = "", fmt.Sprint("another ", name)
			})
			b := w.drive(s, "1")
			if b.Hold == nil || b.Hold.Code != events.HoldBusOlder || !strings.Contains(b.Hold.Message, first.ProviderBatchID) {
				t.Errorf("%s: hold %+v", name, b.Hold)
			}
		}
		if ledger := w.sim.Ledger(); len(ledger.Creates) != 1 || len(ledger.Uploads) != 1 || len(ledger.Cancels)+len(ledger.Deletes) != 0 {
			t.Errorf("ledger %+v", ledger)
		}
		w.edit("1", func(b *jobs.Batch) { b.State, b.Digest, b.Hold = events.BatchPlanned, first.Digest, nil })
		b := w.drive(s, "1")
		w.onlyLive(&b)
		if len(w.sim.Ledger().Creates) != 1 {
			t.Error("a restored bus with the same plan posted again")
		}
	})
}

func TestAProviderThatCannotBeSearchedOrFencedIsHeldOnlyWhenAnAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, can := range map[string]doubleword.Capabilities{"no list": {DeleteFile: true}, "no delete": {ListByMetadata: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := []simulator.Fault{{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500, Nth: 2}}
			bubble(t, simulator.Config{Faults: faults}, func(w *world) {
				w.plan(1, 1)
				s := w.process(limited{w.client, can}, nil)
				b := w.drive(s, "1")
				w.onlyLive(&b)
				b = w.drive(s, "2")
				if b.State != events.BatchCreating || b.Hold == nil || b.Hold.Code != events.HoldCapability {
					t.Errorf("state %+v hold %+v", b.Batch, b.Hold)
				}
			})
		})
	}
}

type limited struct {
	*doubleword.Client
	can doubleword.Capabilities
}

func (l limited) Capabilities() doubleword.Capabilities { return l.can }
