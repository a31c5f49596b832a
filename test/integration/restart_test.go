package integration_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// moments are when batchbus is stopped: at each of them something is half done.
func moments() map[string]events.Kind {
	return map[string]events.Kind{
		"after a batch was planned":         events.BatchIsPlanned,
		"after an input file was uploaded":  events.BatchIsUploaded,
		"while a batch is being created":    events.BatchIsCreating,
		"after a batch was submitted":       events.BatchIsSubmitted,
		"while results are being collected": events.BatchProgress,
		"after a batch has finished":        events.BatchIsFinished,
	}
}

func TestStoppedAndStartedAgainItGoesOnAndPaysOnce(t *testing.T) {
	t.Parallel()
	for name, kind := range moments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, simulator.Config{RowsPerSecond: 15})
			s := w.start()
			jsonl, ids := grouped(120, 3)
			s.open("stopped", 20)
			s.publish("stopped", jsonl)
			s.awaitEvent(kind, "stopped")
			s.stop()
			if got := len(w.provider.fake.Ledger().Creates); kind == events.BatchIsSubmitted && got == 0 {
				t.Error("a batch was submitted that the provider does not know")
			}

			s = w.start()
			s.awaitEvent(events.JobDone, "stopped")
			s.wantAllOnce("stopped", ids)
			wantPaid(t, s.ledger(), 6, len(ids))
		})
	}
}

func TestStoppedAgainAndAgainItComesToTheSameEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{RowsPerSecond: 15})
	s := w.start()
	jsonl, ids := grouped(120, 3)
	s.open("often", 20)
	for _, kind := range []events.Kind{
		events.JobOpened, events.BatchIsPlanned, events.BatchIsCreating, events.BatchIsSubmitted, events.BatchProgress, events.BatchIsFinished,
	} {
		s.publish("often", jsonl) // a user who does not know how far it came runs the same command again
		s.awaitEvent(kind, "often")
		s.stop()
		s = w.start()
	}
	s.awaitEvent(events.JobDone, "often")
	s.wantAllOnce("often", ids)
	wantPaid(t, s.ledger(), 6, len(ids))
}

func TestDroppedWithoutTimeToDrainItGoesOnAndPaysOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{})
	w.provider.slowCreates = 300 * time.Millisecond
	w.options.Settings.DrainTimeout = time.Millisecond
	s := w.start()
	s.abandoned = true
	jsonl, ids := grouped(60, 3)
	s.open("dropped", 20)
	s.publish("dropped", jsonl)
	<-w.provider.creating // a POST has arrived: it will be obeyed, and nobody hears of it
	s.stop()

	w.options.Settings.DrainTimeout = quick().DrainTimeout
	s = w.start()
	s.awaitEvent(events.JobDone, "dropped")
	s.wantAllOnce("dropped", ids)
	wantPaid(t, s.ledger(), 3, len(ids))
}
