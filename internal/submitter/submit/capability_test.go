package submit_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// lacking is a provider that knows no search and no delete, as far as can says so, and counts how often it was asked for them all the same.
type lacking struct {
	simulator.Transport
	can   doubleword.Capabilities
	asked atomic.Int32
}

func (l *lacking) RoundTrip(r *http.Request) (*http.Response, error) {
	search := r.URL.Query().Has("search") && !l.can.ListByMetadata
	removal := r.Method == http.MethodDelete && !l.can.DeleteFile
	if search || removal {
		l.asked.Add(1)
		r = r.Clone(r.Context())
		r.URL.Path = "/no-such-route"
	}
	return l.Transport.RoundTrip(r)
}

func (w *world) lacking(can doubleword.Capabilities) (*doubleword.Client, *lacking) {
	w.t.Helper()
	transport := &lacking{Transport: simulator.Transport{Handler: w.sim}, can: can}
	client, err := doubleword.New(doubleword.Config{
		BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("sk-test"), Transport: transport, RetryTimeout: -1, Capabilities: &can,
	})
	w.check(err)
	return client, transport
}

func TestAProviderThatLacksTheSearchOrTheDeletePaysOnceAndHolds(t *testing.T) {
	t.Parallel()
	const post = "POST /v1/batches"
	lost := simulator.Fault{Kind: simulator.FaultCreateReplyLost, Nth: 2}
	never := simulator.Fault{Kind: simulator.FaultStatus, Route: post, Status: 500, Nth: 2}
	for name, c := range map[string]struct {
		can     doubleword.Capabilities
		fault   simulator.Fault
		creates int
		adopted bool
	}{
		"no search, and the create was made":       {can: doubleword.Capabilities{DeleteFile: true}, fault: lost, creates: 2},
		"no search, and the create was never made": {can: doubleword.Capabilities{DeleteFile: true}, fault: never, creates: 1},
		"no delete, but what was made is found":    {can: doubleword.Capabilities{ListByMetadata: true}, fault: lost, creates: 2, adopted: true},
		"no delete, and the create was never made": {can: doubleword.Capabilities{ListByMetadata: true}, fault: never, creates: 1},
		"neither, and the create was made":         {fault: lost, creates: 2},
		"neither, and the create never was":        {fault: never, creates: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Faults: []simulator.Fault{c.fault}, Latency: 1000 * time.Hour}, func(w *world) {
				w.plan(2, 2)
				provider, asked := w.lacking(c.can)
				first, second := w.process(provider, nil), w.process(provider, nil)
				b := w.drive(first, "1")
				w.onlyLive(&b)
				w.drive(first, "2")
				for range 6 { // hours of sweeps of two processes, one of which was started anew
					w.check(first.Sweep(w.t.Context()))
					w.check(second.Sweep(w.t.Context()))
					pass(time.Hour)
				}
				b = w.batch("2")
				ledger := w.sim.Ledger()
				if len(ledger.Creates) != c.creates || ledger.Calls[post] != 2 || len(ledger.Cancels)+len(ledger.Deletes) != 0 || asked.asked.Load() != 0 {
					t.Errorf("asked %d times for what the provider lacks; ledger %+v", asked.asked.Load(), ledger)
				}
				if c.adopted {
					w.onlyLive(&b)
					return
				}
				if b.State != events.BatchCreating || b.Hold == nil || b.Hold.Code != events.HoldCapability || !slices.Contains(w.kinds("2"), events.BatchHeld) {
					t.Errorf("state %+v, hold %+v, events %v", b.Batch, b.Hold, w.kinds("2"))
				}
			})
		})
	}
}

func TestEveryPOSTComesRightAfterAList(t *testing.T) {
	t.Parallel()
	never := []simulator.Fault{{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500, Count: 2}}
	for name, c := range map[string]struct {
		faults []simulator.Fault
		gone   bool // deletes are answered 404, so the new file is uploaded before the third list
		posts  int
	}{
		"the first one":                          {posts: 1},
		"those after a fence":                    {faults: never, posts: 3},
		"those after a fence that a file proves": {faults: never, gone: true, posts: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Faults: c.faults}, func(w *world) {
				w.plan(1)
				var provider submit.Provider = w.client
				if c.gone {
					provider = &vanished{Client: w.client, really: true}
				}
				var calls []string
				spy := &hooked{Provider: provider, before: func(call string, _ int) error {
					calls = append(calls, call)
					if call == "upload" {
						pass(time.Minute) // and what was listed before is old
					}
					return nil
				}}
				b := w.drive(w.process(spy, nil), "1")
				w.onlyLive(&b)
				all := strings.Join(calls, " ")
				if posts := strings.Count(all, "create"); posts != c.posts || strings.Count(all, "list create") != posts {
					t.Errorf("calls: %s", all)
				}
			})
		})
	}
}

func TestWhatAppearsDuringAFencesUploadIsFoundBeforeThePOST(t *testing.T) {
	t.Parallel()
	faults := []simulator.Fault{{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}}
	bubble(t, simulator.Config{Faults: faults}, func(w *world) {
		w.plan(1)
		uploads := 0
		b := w.batch("1")
		spy := &hooked{Provider: w.client, after: func(call string, _ int) error {
			if call != "upload" {
				return nil
			}
			if uploads++; uploads != 2 {
				return nil
			}
			_, err := w.client.CreateBatch(w.t.Context(), doubleword.NewBatch{
				InputFileID: w.sim.Ledger().Uploads[1].FileID, Endpoint: b.URL, CompletionWindow: b.Window,
				Metadata: map[string]string{submit.MetaPath: submit.Path(busID, &b.Batch), submit.MetaDigest: b.Digest, submit.MetaAttempt: "1"},
			})
			pass(time.Minute) // its rows run
			return err
		}}
		b = w.drive(w.process(spy, nil), "1")
		w.onlyLive(&b)
		if got := len(w.sim.Ledger().Creates); got != 1 || !b.Fenced {
			t.Errorf("%d creates, fenced %v", got, b.Fenced)
		}
	})
}
