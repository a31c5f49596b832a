package submit_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// wish ends a hold as a person does.
func (w *world) wish(n string, kind events.WishKind, providerID string) jobs.Batch {
	w.t.Helper()
	b, err := w.jobs.EndHold(w.t.Context(), queue, job, n, events.Wish{Kind: kind, ProviderBatchID: providerID})
	w.check(err)
	return b
}

// hold holds a batch in the given state.
func (w *world) hold(n string, state events.BatchState, code string) {
	w.t.Helper()
	w.edit(n, func(b *jobs.Batch) {
		b.State, b.Hold = state, &events.Hold{Code: code, Message: "held by the test", At: time.Now()}
	})
}

// stranger makes a remote batch of the given rows; edit may change what it is made of.
func (w *world) stranger(rows int, b *jobs.Batch, edit func(*doubleword.NewBatch)) doubleword.Batch {
	w.t.Helper()
	file, err := w.client.UploadFile(w.t.Context(), "x", func(out io.Writer) error {
		for i := range rows {
			if _, err := fmt.Fprintf(out, "{\"custom_id\":\"%d~other-%d\"%s\n", i, i, tail("other")); err != nil {
				return err
			}
		}
		return nil
	})
	w.check(err)
	create := doubleword.NewBatch{
		InputFileID: file.ID, Endpoint: b.URL, CompletionWindow: b.Window,
		Metadata: map[string]string{submit.MetaPath: submit.Path(busID, &b.Batch), submit.MetaDigest: "other", submit.MetaAttempt: "1"},
	}
	if edit != nil {
		edit(&create)
	}
	remote, err := w.client.CreateBatch(w.t.Context(), create)
	w.check(err)
	return remote
}

// older holds batch 1 as of a bus that was restored: the provider runs a batch of its path with other rows.
func (w *world) older(rows int, s *submit.Submitter) doubleword.Batch {
	w.t.Helper()
	w.plan(rows)
	b := w.batch("1")
	remote := w.stranger(rows, &b, nil)
	if b = w.drive(s, "1"); b.Hold == nil || b.Hold.Code != events.HoldBusOlder {
		w.t.Fatalf("hold %+v", b.Hold)
	}
	return remote
}

const forEver = 1000 * time.Hour

func TestABatchOfOtherRowsIsFollowedOnlyByAPersonsWishAndWithTheLeaveToLackRows(t *testing.T) {
	t.Parallel()
	for name, named := range map[string]bool{"when it is named": true, "when it is the only one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Latency: forEver}, func(w *world) {
				s := w.process(w.client, nil)
				remote, id := w.older(3, s), ""
				if named {
					id = remote.ID
				}
				if b := w.wish("1", events.WishAdopt, id); b.Hold == nil || b.Wish == nil || b.Why != "adopt_wanted" {
					t.Errorf("wished %+v", b.Batch)
				}
				b := w.drive(s, "1")
				w.onlyLive(&b)
				if b.ProviderBatchID != remote.ID || !b.Fenced || b.ForeignDigest != "other" || b.Hold != nil || b.Wish != nil || len(w.sim.Ledger().Creates) != 1 {
					t.Errorf("state %+v", b.Batch)
				}
				if kinds := w.kinds("1"); !slices.Contains(kinds, events.BatchAdopting) || !slices.Contains(kinds, events.BatchIsSubmitted) {
					t.Errorf("events %v", kinds)
				}
			})
		})
	}
}

func TestWhatIsNotThisBatchIsNotAdopted(t *testing.T) {
	t.Parallel()
	anotherPath := func(c *doubleword.NewBatch) { c.Metadata[submit.MetaPath] = "BUS7/default/Nightly_1/2/" }
	for name, c := range map[string]struct {
		make func(w *world, b *jobs.Batch) string // and returns the id to adopt
		says string
	}{
		"a batch of another path": {says: "not of the path", make: func(w *world, b *jobs.Batch) string { return w.stranger(2, b, anotherPath).ID }},
		"a batch with more rows":  {says: "has 3 rows and this batch 2", make: func(w *world, b *jobs.Batch) string { return w.stranger(3, b, nil).ID }},
		"a batch that is not there": {says: "has no batch", make: func(*world, *jobs.Batch) string {
			return "00000000-0000-0000-0000-000000000000"
		}},
		"a batch that was stopped before it had answers": {says: "nothing to follow", make: func(w *world, b *jobs.Batch) string {
			remote := w.stranger(2, b, nil)
			_, err := w.client.CancelBatch(w.t.Context(), remote.ID)
			w.check(err)
			return remote.ID
		}},
		"one of several, without a name": {says: "name the one to adopt", make: func(w *world, b *jobs.Batch) string { w.stranger(2, b, nil); return "" }},
		"opaque ids that tell no row": {says: "opaque ids", make: func(w *world, b *jobs.Batch) string {
			w.edit("1", func(b *jobs.Batch) { b.OpaqueIDs, b.Hold.Code = true, events.HoldFence })
			return ""
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Latency: forEver}, func(w *world) {
				s := w.process(w.client, nil)
				first := w.older(2, s)
				b := w.batch("1")
				id := c.make(w, &b)
				pass(time.Minute)
				code := w.batch("1").Hold.Code
				w.wish("1", events.WishAdopt, id)
				b = w.drive(s, "1")
				if b.State != events.BatchPlanned || b.Hold == nil || b.Hold.Code != code || !strings.Contains(b.Hold.Message, c.says) || b.Wish != nil {
					t.Errorf("state %+v hold %+v", b.Batch, b.Hold)
				}
				if remote, err := w.client.Batch(w.t.Context(), first.ID); err != nil || !remote.Alive() {
					t.Errorf("the batch that is there was stopped: %+v %v", remote, err)
				}
			})
		})
	}
}

func TestABatchThatAPersonFoundIsAdoptedWhereTheProviderCannotBeSearched(t *testing.T) {
	t.Parallel()
	faults := []simulator.Fault{{Kind: simulator.FaultCreateReplyLost}}
	bubble(t, simulator.Config{Latency: forEver, Faults: faults}, func(w *world) {
		w.plan(2)
		provider, _ := w.lacking(doubleword.Capabilities{})
		s := w.process(provider, nil)
		if b := w.drive(s, "1"); b.Hold == nil || b.Hold.Code != events.HoldCapability {
			t.Fatalf("hold %+v", b.Hold)
		}
		w.wish("1", events.WishAdopt, w.sim.Ledger().Creates[0].BatchID)
		b := w.drive(s, "1")
		w.onlyLive(&b)
		if b.Fenced || b.ForeignDigest != "" || w.sim.Ledger().Calls["POST /v1/batches"] != 1 {
			t.Errorf("state %+v", b.Batch)
		}
	})
}

func TestAnAdoptedBatchIsTheOnlyOneThatStaysAlive(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{Latency: forEver}, func(w *world) {
		s := w.process(w.client, nil)
		w.older(2, s)
		b := w.batch("1")
		chosen := w.stranger(2, &b, nil)
		pass(time.Minute)
		w.wish("1", events.WishAdopt, chosen.ID)
		b = w.drive(s, "1")
		w.onlyLive(&b)
		if b.ProviderBatchID != chosen.ID {
			t.Errorf("follows %s", b.ProviderBatchID)
		}
	})
}
