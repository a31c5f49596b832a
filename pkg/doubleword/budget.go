package doubleword

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Bounds of [BudgetConfig].
const (
	// DefaultMaxCalls leaves room for a few long transfers beside the calls that must not wait.
	DefaultMaxCalls = 16
	// MinMaxCalls is what is kept for the kinds of calls, see [CallKind].
	MinMaxCalls = 6
	// createWait is how long CreateBatch waits for a place: whoever posts has just written down that it will, and that must not grow old.
	createWait = 5 * time.Second
)

// Sentinels of a call that a [Budget] kept back. Nothing was sent: the call is [Retryable], CreateBatch too.
var (
	// ErrPaused is returned when the provider has asked, by a 429, to be left alone: the error is that answer's, with the time that is left
	// as its RetryAfter.
	ErrPaused = errors.New("nothing sent: the provider asked to wait")
	// ErrNoPlace is returned when a call waited for its place until its context ended, or CreateBatch for five seconds.
	ErrNoPlace = errors.New("nothing sent: too many calls are under way")
)

// BudgetConfig says what a [Budget] allows. Zero values mean the default.
type BudgetConfig struct {
	// MaxCalls is how many calls may be under way at once, at least [MinMaxCalls]. Default [DefaultMaxCalls].
	MaxCalls int
	// MaxPerSecond is how many calls may begin in a second; as many may begin at once after a pause. Default: any number.
	MaxPerSecond float64
}

// Budget bounds the calls of all clients that share it. A call has a place from its first byte until its answer was read to the end, or its
// [Content] closed. Each kind of call has places that no other kind takes ([CallKind]), so neither long transfers nor slow creates keep polls
// waiting; the other places go to whoever waits for longest. Within a kind, calls of one key begin in the order in which they came, and
// keys take turns. A download that brings nothing for seconds gives way to others that wait for its place ([ErrCrowded]).
//
// A Budget also hears every 429. Too many uploads: uploads of that key wait. Capacity and the quota of unverified accounts are about one batch,
// and its caller's business. Any other: calls about the same file or batch wait, and all of the key when the call was about neither, or when
// more ids were refused than one batch has. Such a call is not sent before the time is over: it fails with [ErrPaused].
//
// It is safe for concurrent use. The nil Budget allows everything.
type Budget struct {
	mu     sync.Mutex
	places places
	lines  [callKinds]line
	rate   bucket
	wakeUp *time.Timer // set while the next call waits for the rate
	pauses map[account]*pauses

	downloads []*download // under way
	crowd     *time.Timer // set while downloads wait for the place of another
}

// NewBudget returns a budget, or every fault of its configuration.
func NewBudget(c BudgetConfig) (*Budget, error) {
	if c.MaxCalls == 0 {
		c.MaxCalls = DefaultMaxCalls
	}
	var faults []error
	if c.MaxCalls < MinMaxCalls {
		faults = append(faults, fmt.Errorf("at most %d calls at once are too few: at least %d", c.MaxCalls, MinMaxCalls))
	}
	if c.MaxPerSecond < 0 {
		faults = append(faults, fmt.Errorf("%g calls a second are less than none", c.MaxPerSecond))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("configure budget: %w", err)
	}
	return &Budget{places: newPlaces(c.MaxCalls), rate: newBucket(c.MaxPerSecond), pauses: make(map[account]*pauses)}, nil
}

// begin waits for a place for k. The place must be ended. An error is an *Error about k, of which nothing was sent.
func (b *Budget) begin(ctx context.Context, a account, k call) (*place, error) {
	if b == nil {
		return nil, nil //nolint:nilnil // the nil place is endless and has no end
	}
	if err := b.paused(a, k); err != nil {
		return nil, err
	}
	if k.kind() == CallCreate {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, createWait)
		defer cancel()
	}
	w := &waiter{since: time.Now(), ready: make(chan struct{})}
	b.enter(a, k.kind(), w)
	select {
	case <-w.ready:
	case <-ctx.Done():
		b.leave(a, k.kind(), w)
		return nil, &Error{Route: k.route(), Class: Retryable, cause: fmt.Errorf("%w: %w", ErrNoPlace, context.Cause(ctx))}
	}
	p := &place{budget: b, kind: k.kind()}
	if err := b.paused(a, k); err != nil { // by an answer that came meanwhile
		p.end()
		return nil, err
	}
	return p, nil
}

func (b *Budget) enter(a account, kind CallKind, w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines[kind].push(a, w)
	b.dispatch(time.Now())
	b.makeRoom(time.Now())
}

// leave takes w, whose time is over, out of its line, or gives back the place that it has just got.
func (b *Budget) leave(a account, kind CallKind, w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.lines[kind].remove(a, w) {
		b.places.taken[kind]--
	}
	b.dispatch(time.Now()) // another may stand first now
}

// dispatch gives places to who waits, for as long as there are any. mu is held.
func (b *Budget) dispatch(now time.Time) {
	for {
		kind, ok := b.next()
		if !ok {
			return
		}
		if wait := b.rate.take(now); wait > 0 {
			b.dispatchIn(wait)
			return
		}
		b.places.taken[kind]++
		close(b.lines[kind].pop().ready)
	}
}

// next is the kind whose first call may begin, and waits for longest. mu is held.
func (b *Budget) next() (kind CallKind, ok bool) {
	var longest time.Time
	for k := range callKinds {
		w := b.lines[k].first()
		if w != nil && b.places.free(k) && (!ok || w.since.Before(longest)) {
			kind, longest, ok = k, w.since, true
		}
	}
	return kind, ok
}

func (b *Budget) dispatchIn(wait time.Duration) {
	if b.wakeUp != nil {
		return
	}
	b.wakeUp = time.AfterFunc(wait, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wakeUp = nil
		b.dispatch(time.Now())
	})
}

// place is the right to have one call under way. The nil place is nobody's.
type place struct {
	budget *Budget
	kind   CallKind
	once   sync.Once
}

// end gives the place back. It is idempotent.
func (p *place) end() {
	if p == nil {
		return
	}
	p.once.Do(func() {
		b := p.budget
		b.mu.Lock()
		defer b.mu.Unlock()
		b.places.taken[p.kind]--
		b.forget(p)
		b.dispatch(time.Now())
	})
}
