package submit_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestAPlannedBatchIsUploadedCreatedOnceAndSubmitted(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(3)
		b := w.drive(w.process(w.client, nil), "1")
		w.onlyLive(&b)
		ledger := w.sim.Ledger()
		if len(ledger.Uploads) != 1 || len(ledger.Creates) != 1 || len(ledger.Deletes) != 0 {
			t.Fatalf("ledger %+v", ledger)
		}
		upload, created := ledger.Uploads[0], ledger.Creates[0]
		if upload.Bytes != b.Bytes || upload.Rows != 3 || upload.Filename != "batchbus.BUS7.default.Nightly_1.1.1.jsonl" {
			t.Errorf("upload %+v, planned %d bytes", upload, b.Bytes)
		}
		if created.Metadata[submit.MetaDigest] != b.Digest || created.Metadata[submit.MetaAttempt] != "1" || created.CompletionWindow != "24h" {
			t.Errorf("create %+v", created)
		}
		if b.FileID != upload.FileID || b.Attempt != 1 || b.SubmittedAt == nil || b.NextPollAt == nil || b.ExpiresAt == nil || b.OutputFileID == "" {
			t.Errorf("state %+v", b.Batch)
		}
		want := []events.Kind{events.BatchIsPlanned, events.BatchIsUploaded, events.BatchIsCreating, events.BatchIsSubmitted}
		if got := w.kinds("1"); !slices.Equal(got, want) {
			t.Errorf("events %v, want %v", got, want)
		}
	})
}

// P59, D20: the uploaded bytes end in exactly one newline.
func TestTheUploadIsTheRowsByteForByteAndEndsInOneNewline(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		const rows = 3000 // more than the writer gathers at once
		w.plan(rows)
		b := w.drive(w.process(w.client, nil), "1")
		sum, size := sha256.New(), 0
		for i := range rows {
			n, _ := fmt.Fprintf(sum, "{\"custom_id\":\"%d~row-1-%d\"%s\n", i, i, tail("1"))
			size += n
		}
		got := w.sim.Ledger().Uploads[0]
		if got.SHA256 != hex.EncodeToString(sum.Sum(nil)) || got.Bytes != int64(size) || b.Bytes != int64(size) || size < 2*128<<10 {
			t.Errorf("uploaded %+v, want %d bytes", got, size)
		}
	})
}

// P34, D11, contract 9.7: a create without an answer is looked for and never repeated blindly.
func TestALostAnswerIsFoundAndAdopted(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simulator.Fault{
		"the connection breaks after the commit":     {Kind: simulator.FaultCreateReplyLost},
		"the answer is 500 after the commit":         {Kind: simulator.FaultCreateReplyLost, Status: 500},
		"the answer is 404 after the commit":         {Kind: simulator.FaultCreateReplyLost, Status: 404},
		"the answer is a 502 of the edge, in HTML":   {Kind: simulator.FaultCreateReplyLost, Status: 502},
		"the answer is a redirect after the commit":  {Kind: simulator.FaultCreateReplyLost, Status: 307, Text: "elsewhere"},
		"the answer is 408 of a server that is slow": {Kind: simulator.FaultCreateReplyLost, Status: 408},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lag := simulator.Fault{Kind: simulator.FaultListLag, Nth: 3, Count: -1, Delay: submit.DefaultQuietPeriod - time.Second}
			bubble(t, simulator.Config{Faults: []simulator.Fault{fault, lag}}, func(w *world) {
				w.plan(2)
				start := time.Now()
				b := w.drive(w.process(w.client, nil), "1")
				w.onlyLive(&b)
				if got := len(w.sim.Ledger().Creates); got != 1 || b.Fenced {
					t.Errorf("%d creates, fenced %v", got, b.Fenced)
				}
				if waited, quiet := time.Since(start), doubleword.DefaultCreateTimeout+submit.DefaultQuietPeriod; waited < quiet {
					t.Errorf("looked after %s, before the answer's %s were over", waited, quiet)
				}
			})
		})
	}
}

// P35, contract 9.7: a create that surely never was is posted once more, behind a fence.
func TestACreateThatNeverWasIsFencedAndPostedAgain(t *testing.T) {
	t.Parallel()
	faults := []simulator.Fault{{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}}
	bubble(t, simulator.Config{Faults: faults}, func(w *world) {
		w.plan(2)
		b := w.drive(w.process(w.client, nil), "1")
		w.onlyLive(&b)
		ledger := w.sim.Ledger()
		if len(ledger.Creates) != 1 || len(ledger.Uploads) != 2 || len(ledger.Deletes) != 1 || ledger.Deletes[0].ID != ledger.Uploads[0].FileID {
			t.Errorf("ledger %+v", ledger)
		}
		if b.Attempt != 2 || ledger.Creates[0].Metadata[submit.MetaAttempt] != "2" || b.FileID != ledger.Uploads[1].FileID {
			t.Errorf("state %+v", b.Batch)
		}
	})
}

// P36: any number of processes, one POST a batch.
func TestTwoProcessesThatRaceForFiftyBatchesCreateFifty(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		rows := slices.Repeat([]int{1}, 50)
		w.plan(rows...)
		ctx, stop := context.WithCancel(w.t.Context())
		defer stop()
		var processes errgroup.Group
		for range 2 {
			s := w.process(w.client, nil)
			processes.Go(func() error { return s.Run(ctx) })
		}
		pass(10 * time.Minute)
		stop()
		w.check(processes.Wait())
		for i := range rows {
			b := w.batch(strconv.Itoa(i + 1))
			w.onlyLive(&b)
		}
		if got := len(w.sim.Ledger().Creates); got != len(rows) {
			t.Errorf("%d creates of %d batches", got, len(rows))
		}
	})
}

var errLost = errors.New("answer lost")

// TestAProcessThatIsPausedAtAnyCallPaysNothingTwice stops one process before or after each of its calls to the provider in turn, for as long as
// another one takes to finish, and then wakes it: it is a crash as long as it sleeps, and a zombie after.
func TestAProcessThatIsPausedAtAnyCallPaysNothingTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		latency time.Duration // of rows: with none they have run before any cancel comes
		create  string        // what becomes of the first process' first POST
	}{
		"and its create is answered":                                  {create: "answered"},
		"and its create is answered and rows take long":               {create: "answered", latency: 1000 * time.Hour},
		"and its create's answer is lost":                             {create: "lost"},
		"and its create's answer is lost and rows take long":          {create: "lost", latency: 1000 * time.Hour},
		"and its create never reached the provider":                   {create: "never"},
		"and its create never reached the provider, rows taking long": {create: "never", latency: 1000 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Latency: c.latency}, func(w *world) {
				cases := map[string]int{"answered": 8, "lost": 10, "never": 22}[c.create] // before and after each call
				w.plan(slices.Repeat([]int{2}, cases)...)
				reached := 0
				for i := range cases {
					if w.pausedAt(strconv.Itoa(i+1), c.create, i/2+1, i%2 == 1) {
						reached++
					}
				}
				if c.latency == 0 && w.sim.Ledger().RowsRun != 2*cases {
					t.Errorf("%d rows ran of %d", w.sim.Ledger().RowsRun, 2*cases)
				}
				want := cases
				if c.create == "never" {
					want-- // there is no time after a call that was not made
				}
				if reached != want {
					t.Errorf("%d pauses were reached, want %d", reached, want)
				}
			})
		})
	}
}

// pausedAt lets one process sleep at its nth call while another finishes the batch, and tells whether it came to that call.
func (w *world) pausedAt(n, create string, nth int, after bool) (reached bool) {
	w.t.Helper()
	wake, asleep := make(chan struct{}), make(chan struct{}, 1)
	nap := func(at int) {
		if at == nth {
			asleep <- struct{}{}
			<-wake
		}
	}
	created := false
	sleeper := &hooked{Provider: w.client}
	sleeper.before = func(call string, at int) error {
		if !after {
			nap(at)
		}
		if call == "create" && create == "never" && !created {
			created = true
			return errLost
		}
		return nil
	}
	sleeper.after = func(call string, at int) error {
		if after {
			nap(at)
		}
		if call == "create" && create == "lost" && !created {
			created = true
			return errLost
		}
		return nil
	}
	// A process that sleeps renews no fence: the fake sleep is only its call's.
	first := w.process(sleeper, func(c *submit.Config) { c.UploadAllowance = 10000 * time.Hour })
	second := w.process(w.client, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.drive(first, n)
	}()
	select {
	case <-asleep:
		reached = true
	case <-done:
	}
	b := w.drive(second, n)
	w.onlyLive(&b)
	close(wake)
	<-done
	b = w.drive(second, n)
	w.onlyLive(&b)
	return reached
}
