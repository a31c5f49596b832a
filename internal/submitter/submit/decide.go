package submit

import (
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// kind is what to do next with a batch.
type kind int

const (
	stop         kind = iota // nothing: submitted, ended, held
	wait                     // nothing before action.delay has passed
	hold                     // hold it with action.code and action.message
	resume                   // end its hold
	look                     // list what the provider has of its path, and decide again
	upload                   // upload its input file
	create                   // win creating, then POST
	adopt                    // cancel action.twins and follow action.remote
	startFence               // win fencing
	deleteFile               // delete the old input file
	confirm                  // prove the deletion by a newer file
	cancelTwins              // cancel action.twins and look again
	puzzle                   // wait until the job is planned: the provider has a batch of it that nothing explains
	recreate                 // upload anew, win creating, then POST
	endCancelled             // answer all rows as cancelled
	giveWay                  // say that a batch of a higher priority waits for the place that it would take
	awaitQueue               // say that the queue is held: nothing of it is sent
	leaveFence               // the same after a fence that is proven: whoever goes on need not fence again
	cancelRemote             // ask the provider to stop
	estimateRows             // read what its rows may take
	holdSpending             // hold it until its limits allow it

	// What a person's wish asks for.
	lookNamed    // look, and read what the wish names
	stopRemotes  // cancel action.twins, and look again later
	believe      // take the old input file for deleted
	resend       // planned again, with a new attempt
	leave        // give a stopped batch back to poller and collector
	endAbandoned // plan the rows anew
	refuseWish   // hold it again with action.code and action.message
	dropWish     // the wish has come to nothing
)

// action is one step and what it needs.
type action struct {
	kind          kind
	delay         time.Duration
	code, message string
	remote        doubleword.Batch
	fenced        bool
	twins         []doubleword.Batch
}

// view is all that a decision depends on.
type view struct {
	batch     *events.Batch
	path      string // see [Path]
	now       time.Time
	cancelled bool // its job's cancellation is wanted
	paused    bool // its job is held
	queueHeld bool // its queue is, for its key
	outranked bool // a batch of a higher priority waits for the next place
	spending  spending
	key       bool // its API key is configured
	can       doubleword.Capabilities
	patience  patience
	memory    memory
	listed    bool // listing was read since the last change
	listing   []doubleword.Batch
	// unexplained is the id of a remote batch of the job that no state explains, as of the listing; planned: the whole job is.
	unexplained string
	planned     bool
}

// decide is the protocol of design.md 5.4: from what is known to the one next action. It is pure and total.
func decide(v *view) action {
	b := v.batch
	switch {
	case b.Wish != nil && !b.State.Ended():
		return decideWish(v)
	case b.State.Ended(), b.State == events.BatchFinished:
		return action{kind: stop}
	case b.State == events.BatchSubmitted:
		return decideSubmitted(v)
	case b.Hold != nil && b.Hold.Code == events.HoldKeyMissing && v.key:
		return action{kind: resume}
	case isBudgetHold(b.Hold) && unsent(b.State) && !v.cancelled:
		return decideOverLimit(v)
	case b.Hold != nil && !v.cancelled:
		return action{kind: stop}
	case !v.key:
		return decideKeyless(v)
	}
	switch b.State {
	case events.BatchPlanned, events.BatchUploaded:
		return decideUnsent(v)
	case events.BatchCreating:
		return decideUnanswered(v)
	case events.BatchFencing:
		return decideFencing(v)
	default:
		return action{kind: hold, code: events.HoldNeedsAttention, message: "unknown state " + string(b.State)}
	}
}

// decideSubmitted leaves a batch that runs to the poller, but for the cancellation of its job.
func decideSubmitted(v *view) action {
	if v.cancelled && v.key {
		return action{kind: cancelRemote}
	}
	return action{kind: stop}
}

// decideKeyless is about a batch whose provider cannot be asked.
func decideKeyless(v *view) action {
	if v.cancelled && (v.batch.State == events.BatchPlanned || v.batch.State == events.BatchUploaded) {
		return action{kind: endCancelled}
	}
	return action{kind: hold, code: events.HoldKeyMissing, message: "no API key named " + v.batch.Key + " is configured"}
}

// decideUnsent: steps 1 and 2. No POST of this batch is under way.
func decideUnsent(v *view) action {
	if !v.cancelled {
		if v.paused {
			return action{kind: stop}
		}
		if v.queueHeld {
			return action{kind: awaitQueue}
		}
		if delay := v.untilNextTry(); delay > 0 {
			return action{kind: wait, delay: delay}
		}
		if v.outranked {
			return action{kind: giveWay}
		}
		if over, ok := decideSpending(v); ok {
			return over
		}
	}
	if v.can.ListByMetadata && !v.listed {
		return action{kind: look}
	}
	if found, ok := decideMatches(v); ok {
		return found
	}
	if v.cancelled {
		return action{kind: endCancelled}
	}
	if puzzled, ok := decideWorld(v); ok {
		return puzzled
	}
	switch v.batch.State {
	case events.BatchPlanned:
		return action{kind: upload}
	default:
		return action{kind: create}
	}
}

// untilNextTry is a courtesy to the provider and no safety: it is by the state's clock, so it is bounded.
func (v *view) untilNextTry() time.Duration {
	if v.batch.NextTryAt == nil || v.memory.untried() {
		return 0
	}
	return min(v.batch.NextTryAt.Sub(v.now), longestWait)
}

// decideUnanswered: step 3. Whoever finds creating never posts.
func decideUnanswered(v *view) action {
	if delay := v.patience.answer - v.now.Sub(v.memory.seenAt); delay > 0 {
		return action{kind: wait, delay: delay}
	}
	if !v.can.ListByMetadata {
		return incapable(v)
	}
	if !v.listed {
		return action{kind: look}
	}
	if found, ok := decideMatches(v); ok {
		return found
	}
	if !v.can.DeleteFile {
		return incapable(v)
	}
	return action{kind: startFence}
}

// incapable holds an unanswered create that this provider leaves no way to resolve, so that a person looks.
func incapable(v *view) action {
	message := "the create was not answered and the provider cannot delete its input file"
	if !v.can.ListByMetadata {
		message = "the create was not answered and the provider cannot be searched for it"
	}
	return action{kind: hold, code: events.HoldCapability, message: message}
}

// decideMatches adopts what the provider has of this path, or holds; false when it has nothing that counts.
func decideMatches(v *view) (action, bool) {
	m := matchesOf(v.listing, v.batch.Digest)
	if len(m.foreign) > 0 {
		return busOlder(&m.foreign[0]), true
	}
	if len(m.ours) == 0 {
		return action{}, false
	}
	chosen := m.choose(v.batch.FileID)
	return action{kind: adopt, remote: chosen, fenced: isFenced(v.batch, &chosen), twins: m.liveBut(chosen.ID)}, true
}

// isFenced reports whether rows that the remote batch lacks were stopped by us rather than by a wish: a fence's delete, by this process or a
// dead one, may have cancelled it or do so yet.
func isFenced(b *events.Batch, remote *doubleword.Batch) bool {
	stopped := remote.Status == doubleword.StatusCancelled || remote.Status == doubleword.StatusCancelling
	return b.State == events.BatchFencing || stopped
}

func busOlder(remote *doubleword.Batch) action {
	return action{
		kind: hold, code: events.HoldBusOlder,
		message: "provider batch " + remote.ID + " has this batch's path and another digest: the bus was restored to an older day;" +
			" adopt or abandon it",
	}
}

// decideFencing: step 4.
func decideFencing(v *view) action {
	switch fence := &v.memory.fence; {
	case !v.can.ListByMetadata, !v.can.DeleteFile: // not begun by a process that was told so
		return incapable(v)
	case !v.memory.mine:
		return decideFoundFence(v)
	case !fence.provenAt.IsZero():
		return decideFenced(v)
	case fence.gone:
		return action{kind: confirm}
	case !v.listed:
		return action{kind: look}
	}
	if found, ok := decideMatches(v); ok {
		return found
	}
	return action{kind: deleteFile}
}

// decideFoundFence gives the owner of a fence the time to come to its end, and begins it anew then.
func decideFoundFence(v *view) action {
	if delay := v.patience.owner - v.now.Sub(v.memory.seenAt); delay > 0 {
		return action{kind: wait, delay: delay}
	}
	return action{kind: startFence}
}

// decideFenced: the old input file is gone, so no POST before this attempt can make a batch any more. What was made is seen after the quiet
// period, and is stopped before anything else is posted.
func decideFenced(v *view) action {
	if delay := v.patience.quiet - v.now.Sub(v.memory.fence.provenAt); delay > 0 {
		return action{kind: wait, delay: delay}
	}
	if !v.listed {
		return action{kind: look}
	}
	m := matchesOf(v.listing, v.batch.Digest)
	if len(m.foreign) > 0 {
		return busOlder(&m.foreign[0])
	}
	if twins := m.liveBefore(v.batch.Attempt); len(twins) > 0 {
		return action{kind: cancelTwins, twins: twins}
	}
	if len(m.ours) > 0 {
		best := m.furthest()
		return action{kind: adopt, remote: best, fenced: true, twins: m.liveBut(best.ID)}
	}
	if v.cancelled {
		return action{kind: endCancelled}
	}
	if puzzled, ok := decideWorld(v); ok {
		return puzzled
	}
	if v.queueHeld {
		return action{kind: leaveFence}
	}
	return action{kind: recreate}
}
