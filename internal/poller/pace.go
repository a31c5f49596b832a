package poller

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// ageShare is which share of its age a batch without progress waits between polls: about twenty polls per tenfold age.
const ageShare = 20

// Pace says how often a batch is asked for. All of it is pure.
type Pace struct {
	Floor, Ceiling time.Duration
	Patience       time.Duration // how long 401, 404 and silence are taken for an outage
	Stuck          time.Duration // how long a batch may be validating or finalizing before a person should look
}

// Interval is the wait until the next poll: a share of the batch's age within the floor and the ceiling, no longer than until it is
// expected to end or its window ends, and the ceiling once it is overdue or in doubt. It is shorter by up to a tenth, for one batch always in the same way, so
// that many batches do not fall due at once. Ticks come every Floor, so no batch is polled more often than that; were it longer by as
// much, a young batch would miss every other tick.
func (p Pace) Interval(b *events.Batch, now time.Time) time.Duration {
	age := now.Sub(b.SinceAt)
	if b.SubmittedAt != nil {
		age = now.Sub(*b.SubmittedAt)
	}
	wait := age / ageShare
	if b.ETAAt != nil && b.ETAAt.After(now) {
		wait = min(wait, b.ETAAt.Sub(now))
	}
	if b.ExpiresAt != nil && !b.ExpiresAt.Before(now) {
		wait = min(wait, min(b.ExpiresAt.Sub(now), p.Ceiling)+time.Second) // it is overdue after that second, not at it
	}
	if b.Overdue || b.Hold != nil {
		wait = p.Ceiling
	}
	wait = max(p.Floor, min(wait, p.Ceiling))
	return wait - jitter(b, wait/10)
}

// jitter takes a hash that mixes well: the batches of a job differ in a digit or two.
func jitter(b *events.Batch, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	sum := sha256.Sum256([]byte(events.BatchKey(b.Queue, b.Job, b.N)))
	return time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(most))
}

// early reports whether a batch that the list shows anyway is worth being decided on before it is due: it says something else than it did, or
// more than half of its wait is over. So batches whose times lie apart fall due together again, and share lists.
func early(b *events.Batch, status string, now time.Time) bool {
	if b.UnknownSince != nil || b.Status != "" && b.Status != status {
		return true
	}
	last := b.SinceAt
	if b.PolledAt != nil {
		last = *b.PolledAt
	}
	return b.NextPollAt == nil || now.Sub(last) >= b.NextPollAt.Sub(last)/2
}
