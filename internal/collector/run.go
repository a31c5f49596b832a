package collector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// maxFlying bounds the bytes of results under way, whatever their number.
const maxFlying = 32 << 20

// run is one collection of one batch. What it holds grows with the rows of the batch by a manifest entry and two bits each, and by the
// custom_id of those whose wire id does not hold it.
type run struct {
	s        *Service
	log      *zerolog.Logger
	b        *jobs.Batch
	provider waiting
	entries  []manifest.Entry

	cursor jobs.Cursor    // as it is stored
	read   [2]int         // lines of the output and the error file that this run has read
	lines  [2]int         // of them, those whose results are stored
	seen   events.Bits    // places whose result is stored or under way
	found  map[int]tally  // places whose result was stored since the cursor moved
	stood  map[int]string // of them, those on whose subject one stood already, and the subject
	ids    []string       // see customID; nil until one is needed
	window *jetstore.Window
	flying int           // bytes under way
	again  map[int]retry // places whose rows get another try instead of a result
	job    jobs.Job      // of an ended batch, as it was when the run began

	heard int // lines of rows that have an outcome, since the files were last read from their start

	slowSince   time.Time // when the provider first sent nothing for long; zero: it never did
	orphans     []string  // ids that nobody sent, the first of them
	provisional int
	quarantined int
}

func (s *Service) newRun(ctx context.Context, b *jobs.Batch, p waiting, entries []manifest.Entry) (*run, error) {
	cursor, err := s.cursorOf(ctx, b)
	if err != nil {
		return nil, err
	}
	var job jobs.Job
	if b.State == events.BatchFinished {
		if job, err = s.cfg.Jobs.Job(ctx, b.Queue, b.Job); err != nil {
			return nil, err
		}
	}
	r := &run{
		job: job, again: map[int]retry{},
		s: s, log: s.logger(b), b: b, provider: p, entries: entries,
		cursor: cursor, seen: cursor.Settled.Clone(), found: map[int]tally{}, stood: map[int]string{}, window: s.cfg.Bus.NewWindow(s.cfg.InFlight),
		read: [2]int{cursor.OutputLines, cursor.ErrorLines}, lines: [2]int{cursor.OutputLines, cursor.ErrorLines},
	}
	r.provider.slow = r.slow
	return r, nil
}

// cursorOf is b's cursor, read while b had not ended. A settlement replaces the cursor, so whoever changes the one returned has not missed it:
// no place gets its bit after it went to a follow-up.
func (s *Service) cursorOf(ctx context.Context, b *jobs.Batch) (jobs.Cursor, error) {
	cursor, err := s.cfg.Jobs.Cursor(ctx, b)
	if err != nil {
		return cursor, err
	}
	now, err := s.cfg.Jobs.Batch(ctx, b.Queue, b.Job, b.N)
	if err == nil && now.State.Ended() {
		err = fmt.Errorf("read cursor of %s: the batch is settled meanwhile: %w", b.StateKey(), jetstore.ErrConflict)
	}
	return cursor, err
}

// left is how many places have neither a stored result nor another try before them.
func (r *run) left() int {
	left := len(r.entries) - r.cursor.Settled.Count()
	for place := range r.again {
		if !r.cursor.Settled.Has(place) {
			left--
		}
	}
	return left
}

// ended reports whether the batch has ended at the provider, so that failures are final.
func (r *run) ended() bool { return r.b.State == events.BatchFinished }

func (r *run) facts() facts {
	_, waiting := deadline(r.b, whyMissing, whyOutage)
	return facts{batch: &r.b.Batch, now: time.Now().UTC(), waiting: waiting, prices: r.s.cfg.Prices}
}

// commit waits until every result under way is stored and moves the cursor over them: lines by maximum, a bit and a share of the totals
// for each place that the stored revision does not have yet. A bit is set only here, after its row's result. After an error results
// are stored and the cursor stands as before: the next run finds them in their places.
func (r *run) commit(ctx context.Context) error {
	if err := r.window.Flush(ctx); err != nil {
		return refusal(ctx, err)
	}
	r.lines = r.read
	return r.moveCursor(ctx)
}

func (r *run) moveCursor(ctx context.Context) error {
	if err := r.recount(ctx); err != nil {
		return err
	}
	for len(r.found) > 0 || r.lines[output] > r.cursor.OutputLines || r.lines[failures] > r.cursor.ErrorLines {
		next := r.cursor
		next.Settled = r.cursor.Settled.Clone()
		jobs.Merge(&next.Cursor, r.progress(), func(place int) events.Totals { return r.found[place].totals })
		change := jobs.NewChange(time.Now())
		change.Cursor(&next)
		err := r.s.cfg.Jobs.Commit(ctx, change)
		if err == nil {
			r.cursor = next
			clear(r.found)
			return nil
		}
		if !jobs.IsConflict(err) {
			return err
		}
		if r.cursor, err = r.s.cursorOf(ctx, r.b); err != nil {
			return err
		}
		for place := range r.entries {
			if r.cursor.Settled.Has(place) {
				r.seen.Set(place)
			}
		}
	}
	return nil
}

// progress is what this run found since the cursor moved.
func (r *run) progress() events.Cursor {
	c := events.Cursor{OutputLines: r.lines[output], ErrorLines: r.lines[failures], Settled: events.NewBits(len(r.entries))}
	for place := range r.found {
		c.Settled.Set(place)
	}
	return c
}

// errRefused is returned when the bus refuses a result for good.
var errRefused = errors.New("bus refuses the result")

// refusal tells a result that is refused for good from one that was not stored because time was up.
func refusal(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("publish results: %w", err)
	}
	return fmt.Errorf("%w: %w", errRefused, err)
}
