package obs

import (
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// The loops of the services, as they sign their beats.
const (
	LoopIngestFetch     = "ingest.fetch"
	LoopIngestSweep     = "ingest.sweep"
	LoopPlannerRows     = "planner.rows"
	LoopPlannerSweep    = "planner.sweep"
	LoopSubmitterEvents = "submitter.events"
	LoopSubmitterSweep  = "submitter.sweep"
	LoopPollerTicks     = "poller.ticks"
	LoopPollerSweep     = "poller.sweep"
	LoopCollectorEvents = "collector.events"
	LoopCollectorSweep  = "collector.sweep"
	LoopKeeperSweep     = "keeper.sweep"
	LoopFilesSweep      = "files.sweep"
)

// Hooks are how a service tells what it does, as it happens. Any of them may be nil: nobody listens. They are called from several goroutines
// at once and must not block.
type Hooks struct {
	// OnBeat hears of a round of the named loop.
	OnBeat func(loop string)
	// OnAnswer hears how a message was answered, and how many times it had been delivered by then.
	OnAnswer func(answer jetstore.Answer, delivered int)
	// OnIngest hears of rows that were stored in a block; those of a message that came twice are told twice.
	OnIngest func(rows int)
	// OnResult hears of a result that was stored and was not there before.
	OnResult func(outcome events.Outcome)
	// OnDeadLetter hears of a dead letter that was stored and was not there before.
	OnDeadLetter func(code string)
	// OnFileDeleted hears of an input file at the provider that nothing referred to and that was deleted.
	OnFileDeleted func()
}

// Beat tells of a round of a loop.
func (h Hooks) Beat(loop string) {
	if h.OnBeat != nil {
		h.OnBeat(loop)
	}
}

// Loop is what a consume loop of that name is given; onError hears its errors.
func (h Hooks) Loop(name string, onError func(subject string, err error)) jetstore.Hooks {
	return jetstore.Hooks{OnError: onError, Beat: func() { h.Beat(name) }, Answered: h.OnAnswer}
}

// Ingested tells of rows that were stored in a block.
func (h Hooks) Ingested(rows int) {
	if h.OnIngest != nil {
		h.OnIngest(rows)
	}
}

// Result tells what became of the publish of a result: one that stood there already was told of before.
func (h Hooks) Result(outcome events.Outcome, ack jetstore.Ack) {
	if h.OnResult != nil && !ack.Already {
		h.OnResult(outcome)
	}
}

// DeadLetter tells what became of the publish of a dead letter: one that stood there already was told of before.
func (h Hooks) DeadLetter(code string, ack jetstore.Ack) {
	if h.OnDeadLetter != nil && !ack.Already {
		h.OnDeadLetter(code)
	}
}

// FileDeleted tells of an input file that nothing referred to.
func (h Hooks) FileDeleted() {
	if h.OnFileDeleted != nil {
		h.OnFileDeleted()
	}
}
