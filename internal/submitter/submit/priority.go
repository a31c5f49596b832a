package submit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// Priorities (the policy's, of each batch's job) order what waits for the provider, in two ways. A sweep drives batches of a higher priority first.
// And while one of them was refused for want of a place there, those of a lower priority and the same key are not sent, or they would take the next
// place: they say that they are outranked, and go on once nothing above them waits.

// Reasons to wait that are the want of a place at the provider.
const (
	whySlots    = "upload_slots"
	whyCapacity = "capacity" // of one model and window
	whyTooMany  = "too_many_requests"
	// whyOutranked is what a batch says of itself that gives way.
	whyOutranked = "outranked"
)

// place is what batches compete for: a key's, or one of a model's and window's with that key.
type place struct{ key, window, model string }

// places are the highest priorities of batches that wait for places, as this process' last sweep saw them. It is safe for concurrent use.
type places struct {
	mu      sync.Mutex
	waiting map[place]int
}

func (p *places) set(waiting map[place]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = waiting
}

// outranked reports whether a batch of this priority would take the place that one of a higher priority waits for.
func (p *places) outranked(b *events.Batch, priority int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range []place{{b.Key, "", ""}, {b.Key, b.Window, b.Model}} {
		if above, waits := p.waiting[at]; waits && above > priority {
			return true
		}
	}
	return false
}

// awaitsPlace tells what the batch was refused for want of and is tried again for. One whose next try is long over is tried by nobody.
func awaitsPlace(b *events.Batch, now time.Time, patience time.Duration) (place, bool) {
	if !unsent(b.State) || b.Hold != nil || b.Wish != nil || b.NextTryAt == nil || now.After(b.NextTryAt.Add(patience)) {
		return place{}, false
	}
	switch b.Why {
	case whySlots, whyTooMany:
		return place{b.Key, "", ""}, true
	case whyCapacity:
		return place{b.Key, b.Window, b.Model}, true
	default:
		return place{}, false
	}
}

// ready is a batch that may have a step to make, as a sweep sees it.
type ready struct {
	name
	priority int
	outrank  *events.Batch // nil: it is driven whatever waits above it
}

// ranking gathers, in one sweep, what is ready and what waits for places.
type ranking struct {
	ready   []ready
	waiting map[place]int
}

// saw takes note of a batch of a job that may be sent.
func (r *ranking) saw(b *events.Batch, priority int, now time.Time, patience time.Duration) {
	at, waits := awaitsPlace(b, now, patience)
	if !waits {
		return
	}
	if r.waiting == nil {
		r.waiting = make(map[place]int)
	}
	if above, known := r.waiting[at]; !known || above < priority {
		r.waiting[at] = priority
	}
}

// add takes a batch that is ready. One that has nothing to do but to be sent, and says already that it is outranked, is left alone while it is.
func (r *ranking) add(b *events.Batch, priority int, cancelled bool) {
	next := ready{name: name{b.Queue, b.Job, b.N}, priority: priority}
	if unsent(b.State) && b.Why == whyOutranked && !cancelled && b.Wish == nil {
		kept := *b
		next.outrank = &kept
	}
	r.ready = append(r.ready, next)
}

// due are the names of what is to be driven, the highest priority first.
func (r *ranking) due(p *places) []name {
	p.set(r.waiting)
	slices.SortStableFunc(r.ready, func(a, b ready) int { return b.priority - a.priority })
	var due []name
	for i := range r.ready {
		if next := &r.ready[i]; next.outrank == nil || !p.outranked(next.outrank, next.priority) {
			due = append(due, next.name)
		}
	}
	return due
}

// giveWay says that something above the batch waits, once. The sweeps drive it when that is over.
func (d *drive) giveWay(ctx context.Context) (step, error) {
	if d.batch.Why == whyOutranked {
		return step{done: true}, nil
	}
	return step{done: true}, d.note(ctx, func(b *events.Batch, _ time.Time) { b.Why, b.NextTryAt, b.LastError = whyOutranked, nil, "" })
}

// priority is that of a batch's job; 0 where the job is not open.
func (o openJobs) priority(b *jobs.Batch) int {
	if job, ok := o[events.JobKey(b.Queue, b.Job)]; ok {
		return job.priority
	}
	return 0
}

// held reports whether a batch's job is held.
func (o openJobs) held(b *jobs.Batch) bool {
	job, ok := o[events.JobKey(b.Queue, b.Job)]
	return ok && job.held
}
