package submit_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// zombie is a process whose first POST is asleep until wake is closed. landed is closed when that was answered, and done when the process has
// come to rest.
func (w *world) zombie(n string) (wake, landed, done chan struct{}) {
	wake, landed, done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	asleep := make(chan struct{})
	provider := &hooked{Provider: detached{w.client}, before: func(call string, _ int) error {
		if call == "create" {
			close(asleep)
			<-wake
		}
		return nil
	}}
	provider.after = func(call string, _ int) error {
		if call == "create" {
			close(landed)
		}
		return nil
	}
	s := w.process(provider, nil)
	go func() {
		defer close(done)
		w.drive(s, n)
	}()
	<-asleep
	return wake, landed, done
}

// detached is a provider whose creates go out however old they are: a process that slept does not know that its deadline is over.
type detached struct{ *doubleword.Client }

func (d detached) CreateBatch(ctx context.Context, b doubleword.NewBatch) (doubleword.Batch, error) {
	return d.Client.CreateBatch(context.WithoutCancel(ctx), b)
}

func TestAZombiesPOSTThatLandsAfterTheFenceMakesNoBatch(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2)
		wake, _, done := w.zombie("1")
		b := w.drive(w.process(w.client, nil), "1")
		w.onlyLive(&b)
		close(wake)
		<-done
		ledger := w.sim.Ledger()
		if len(ledger.Creates) != 1 || ledger.Calls["POST /v1/batches"] != 2 || ledger.RowsRun > 2 {
			t.Errorf("ledger %+v", ledger)
		}
	})
}

func TestAZombiesPOSTThatLandsBeforeTheDelete(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		latency time.Duration
		creates int
		fenced  bool
	}{
		"is stopped by it, and posted again when no row had run": {latency: 1000 * time.Hour, creates: 2},
		"is adopted when rows had completed":                     {creates: 1, fenced: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Latency: c.latency}, func(w *world) {
				w.plan(2)
				wake, _, done := w.zombie("1")
				second := &hooked{Provider: w.client, before: func(call string, _ int) error {
					if call == "delete" {
						close(wake)
						pass(time.Minute) // the zombie's POST lands, and its rows run if they are quick
					}
					return nil
				}}
				w.drive(w.process(second, nil), "1")
				<-done
				b := w.drive(w.process(second.Provider, nil), "1")
				w.onlyLive(&b)
				if got := len(w.sim.Ledger().Creates); got != c.creates || b.Fenced != c.fenced {
					t.Errorf("%d creates, want %d; fenced %v, want %v", got, c.creates, b.Fenced, c.fenced)
				}
			})
		})
	}
}

func TestALiveTwinInTheThirdListIsStoppedBeforeTheNextPOST(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{Latency: 1000 * time.Hour}, func(w *world) {
		w.plan(2)
		// The provider's delete does not stop the zombie's batch: it lands after it, as if the provider had not refused the file.
		wake, landed, done := w.zombie("1")
		second := &hooked{Provider: w.client}
		second.before = func(call string, _ int) error {
			if call == "delete" {
				close(wake)
				<-landed
				return errLied
			}
			return nil
		}
		b := w.drive(w.process(lyingDelete{second}, nil), "1")
		<-done
		w.onlyLive(&b)
		ledger := w.sim.Ledger()
		if len(ledger.Creates) != 2 || len(ledger.Cancels) != 1 || ledger.Cancels[0].BatchID != ledger.Creates[0].BatchID {
			t.Errorf("ledger %+v", ledger)
		}
		if !slices.Contains(w.kinds("1"), events.BatchTwin) {
			t.Errorf("events %v tell of no twin", w.kinds("1"))
		}
	})
}

var errLied = errors.New("said deleted, did not")

// lyingDelete says deleted where nothing was.
type lyingDelete struct{ *hooked }

func (l lyingDelete) DeleteFile(ctx context.Context, id string) (bool, error) {
	deleted, err := l.hooked.DeleteFile(ctx, id)
	if errors.Is(err, errLied) {
		return true, nil
	}
	return deleted, err
}

// vanished is a provider that answers deletes with 404, and whose file list shows or hides what it wants.
type vanished struct {
	*doubleword.Client
	really bool // the file is deleted all the same
	hide   func(nth int, f doubleword.File) bool
	lists  int
}

func (v *vanished) DeleteFile(ctx context.Context, id string) (bool, error) {
	if v.really {
		_, err := v.Client.DeleteFile(ctx, id)
		return false, err
	}
	return false, nil
}

func (v *vanished) AllFiles(ctx context.Context, q doubleword.FileQuery) iter.Seq2[doubleword.File, error] {
	v.lists++
	return func(yield func(doubleword.File, error) bool) {
		for f, err := range v.Client.AllFiles(ctx, q) {
			if err == nil && v.hide != nil && v.hide(v.lists, f) {
				continue
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

func TestADeleteAnswered404IsProvenOrHeld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider vanished
		held     bool
	}{
		"a list with the newer file and without the older proves it": {provider: vanished{really: true}},
		"a list that lags is asked again": {
			provider: vanished{really: true, hide: func(nth int, _ doubleword.File) bool { return nth < 4 }},
		},
		"a list that still shows the older file holds":     {held: true},
		"a list that never shows the newer file holds too": {held: true, provider: vanished{really: true, hide: func(int, doubleword.File) bool { return true }}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := []simulator.Fault{{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}}
			bubble(t, simulator.Config{Faults: faults}, func(w *world) {
				w.plan(1)
				provider := c.provider
				provider.Client = w.client
				b := w.drive(w.process(&provider, nil), "1")
				if !c.held {
					w.onlyLive(&b)
					if got := len(w.sim.Ledger().Uploads); got != 2 {
						t.Errorf("%d uploads, want one for each attempt", got)
					}
					return
				}
				if b.State != events.BatchFencing || b.Hold == nil || b.Hold.Code != events.HoldFence || len(w.sim.Ledger().Creates) != 0 {
					t.Errorf("state %+v hold %+v", b.Batch, b.Hold)
				}
			})
		})
	}
}

func TestTwinsOfARestoredBusAreStoppedAndTold(t *testing.T) {
	t.Parallel()
	for name, attempt := range map[string]string{"of the same attempt": "1", "of a later attempt, which the restored bus knows nothing of": "2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Latency: 1000 * time.Hour}, func(w *world) {
				w.plan(1)
				s := w.process(w.client, nil)
				b := w.drive(s, "1")
				twin, err := w.client.CreateBatch(w.t.Context(), doubleword.NewBatch{
					InputFileID: b.FileID, Endpoint: b.URL, CompletionWindow: b.Window,
					Metadata: map[string]string{submit.MetaPath: submit.Path(busID, &b.Batch), submit.MetaDigest: b.Digest, submit.MetaAttempt: attempt},
				})
				w.check(err)
				w.restore("1", events.BatchUploaded)
				b = w.drive(s, "1")
				w.onlyLive(&b)
				if b.ProviderBatchID == twin.ID || !slices.Contains(w.kinds("1"), events.BatchTwin) {
					t.Errorf("follows %s, events %v", b.ProviderBatchID, w.kinds("1"))
				}
			})
		})
	}
}

func TestABatchOfASimilarPathIsNotOurs(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		b := w.batch("1")
		file, err := w.client.UploadFile(w.t.Context(), "x", func(out io.Writer) error {
			_, err := io.WriteString(out, `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}}`)
			return err
		})
		w.check(err)
		for _, path := range []string{"BUS7/default/NightlyX1/1/", "bus7/DEFAULT/nightly_1/1/", "BUS7/default/Nightly_1/1/1/"} {
			_, err := w.client.CreateBatch(w.t.Context(), doubleword.NewBatch{
				InputFileID: file.ID, Endpoint: b.URL, CompletionWindow: b.Window,
				Metadata: map[string]string{submit.MetaPath: path, submit.MetaDigest: b.Digest},
			})
			w.check(err)
		}
		b = w.drive(w.process(w.client, nil), "1")
		w.onlyLive(&b)
	})
}

// stale is a provider whose list shows batches as they were when they began.
type stale struct{ *doubleword.Client }

func (s stale) AllBatches(ctx context.Context, q doubleword.BatchQuery) iter.Seq2[doubleword.Batch, error] {
	return func(yield func(doubleword.Batch, error) bool) {
		for b, err := range s.Client.AllBatches(ctx, q) {
			b.Status, b.Counts = doubleword.StatusInProgress, doubleword.Counts{}
			if !yield(b, err) {
				return
			}
		}
	}
}

func TestAListThatShowsAnOlderStatusIsNotBelieved(t *testing.T) {
	t.Parallel()
	faults := []simulator.Fault{{Kind: simulator.FaultCreateReplyLost}}
	bubble(t, simulator.Config{Faults: faults, Latency: 1000 * time.Hour}, func(w *world) {
		w.plan(1)
		s := w.process(stale{w.client}, nil)
		_ = s.Submit(w.t.Context(), queue, job, "1")
		_, err := w.client.CancelBatch(w.t.Context(), w.sim.Ledger().Creates[0].BatchID) // by a person, before a row ran
		w.check(err)
		b := w.drive(s, "1")
		w.onlyLive(&b)
		if got := len(w.sim.Ledger().Creates); got != 2 {
			t.Errorf("%d creates: the dead one was adopted", got)
		}
	})
}
