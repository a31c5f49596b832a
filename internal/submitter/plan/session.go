package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Blocks is how single messages are read, and how a walk is tied to the server that they are read from, see [jetstore.Store.Anchor].
type Blocks interface {
	Anchor(ctx context.Context) context.Context
	At(ctx context.Context, stream string, seq uint64) (jetstore.Message, error)
	Last(ctx context.Context, stream, subject string) (jetstore.Message, error)
}

// fitter makes a message fit the server.
type fitter interface {
	Fit(ctx context.Context, stream string, m *nats.Msg, envelope []byte) (*nats.Msg, error)
}

// window is where results and dead letters go, many at once.
type window interface {
	PublishOnce(ctx context.Context, m *nats.Msg, settled func(jetstore.Ack)) error
	Flush(ctx context.Context) error
}

// session is what one process knows of a job that it plans: the job's state as it stands, and the walk that led there. Between two runs
// the walk stands at the state's Walked. It is not safe for concurrent use.
type session struct {
	*desk
	window  window
	job     jobs.Job
	walk    *walker
	origins origins
}

// desk is what sessions work with.
type desk struct {
	rows      manifest.Bus
	blocks    Blocks
	fit       fitter
	newWindow func() window
	jobs      *jobs.Store
	observe   obs.Hooks
	// patience is how long after its block an object may be absent, since a replica can lag; manifestAge is how old a manifest may be
	// when it is named.
	patience, manifestAge time.Duration
}

func (d *desk) session(job jobs.Job) *session {
	return &session{desk: d, window: d.newWindow(), job: job, walk: newWalker(&job.Job), origins: origins{blocks: d.blocks}}
}

// run walks on to the newest block and stores what follows. After an error the session is of no use any more: errStale says that the
// job's state was changed by another planner, a holdError that the job is to be held; otherwise the same run may be tried again by a new
// session, whatever of it was stored.
func (s *session) run(ctx context.Context) error {
	if err := s.recognise(ctx); err != nil {
		return err
	}
	from := s.walk.mark.place.Sequence + 1
	for m, err := range s.rows.Read(ctx, jetstore.StreamRows, s.subject(), from) {
		if err == nil {
			err = s.message(ctx, &m)
		}
		if err != nil {
			return s.explain(err, m.At)
		}
	}
	return s.explain(s.finish(ctx), time.Now())
}

func (s *session) subject() string { return events.RowsSubject(s.job.Queue, s.job.Name()) }

// recognise sees to it, before anything follows from the rows, that they are those that the state knows: the block at Walked must be there
// with its timestamp. The blocks of a completed job may be purged, but then all of them up to there.
func (s *session) recognise(ctx context.Context) error {
	walked := s.job.Walked
	if walked.Sequence == 0 {
		return nil
	}
	m, err := s.blocks.At(ctx, jetstore.StreamRows, walked.Sequence)
	switch {
	case errors.Is(err, jetstore.ErrNotFound) && s.walk.ended:
		return s.purged(ctx)
	case errors.Is(err, jetstore.ErrNotFound):
		return s.olderThan()
	case err != nil:
		return fmt.Errorf("read the block walked up to: %w", err)
	case m.Subject != s.subject() || !m.At.Equal(walked.At):
		return s.olderThan()
	}
	return nil
}

// purged tells a completed job's rows that were purged from those of an older bus.
func (s *session) purged(ctx context.Context) error {
	last, err := s.blocks.Last(ctx, jetstore.StreamRows, s.subject())
	switch {
	case errors.Is(err, jetstore.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look for the newest block: %w", err)
	case last.Sequence < s.job.Walked.Sequence:
		return s.olderThan()
	}
	return nil
}

func (s *session) olderThan() error {
	return &holdError{code: events.HoldRowsOlder, message: fmt.Sprintf(
		"the rows are planned up to block %d of %s, which is not in BATCHBUS_ROWS as it was: rows were lost or restored",
		s.job.Walked.Sequence, s.job.Walked.At.Format(time.RFC3339Nano))}
}

func (s *session) message(ctx context.Context, m *jetstore.Message) error {
	if expected, sealed := block.ReadSeal(m.Data); sealed {
		return s.seal(ctx, m, sealing{at: m.At, expected: expected, sequence: block.SealSequence(m.Data)})
	}
	if at := s.job.SealedAt; at != nil && m.At.After(*at) { // the seal itself may be gone
		s.walk.sealWith(sealing{at: *at, sequence: s.job.SealSequence})
	}
	index := -1
	for e, err := range block.Read(m.Data) {
		if err != nil {
			return err
		}
		index++
		if err := s.entry(ctx, m, e, events.RowPlace{Sequence: m.Sequence, Index: index}); err != nil {
			return err
		}
	}
	s.walk.end(events.Place{Sequence: m.Sequence, At: m.At})
	return nil
}

func (s *session) entry(ctx context.Context, m *jetstore.Message, e *block.Entry, at events.RowPlace) error {
	if err := checkPlace(at); err != nil {
		return err
	}
	v := s.walk.row(e, at)
	var first *head
	switch v.do {
	case clash:
		var err error
		if first, err = s.origins.at(ctx, *v.owner, m); err != nil {
			return err
		}
		v = s.walk.judge(e, *v.owner, first)
	case ask:
		answered, err := s.answered(ctx, e)
		if err != nil {
			return err
		}
		if v = s.walk.late(); answered {
			v = verdict{}
		}
	default: // decided
	}
	if err := s.publish(ctx, m, e, v, first); err != nil {
		return err
	}
	if len(s.walk.ready) == 0 {
		return nil
	}
	return s.cut(ctx, nil)
}

// answered tells whether e is a redelivery of a row that has its result. One that has a dead letter needs no question: it meets it.
func (s *session) answered(ctx context.Context, e *block.Entry) (bool, error) {
	m, err := s.blocks.Last(ctx, jetstore.StreamResults, events.ResultSubject(s.job.Queue, s.job.Name(), e.CustomID))
	if errors.Is(err, jetstore.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for result of late row: %w", err)
	}
	return m.Header.Get(events.HeaderSource) == e.Source.String(), nil
}

func (s *session) seal(ctx context.Context, m *jetstore.Message, seal sealing) error {
	first := s.walk.sealWith(seal)
	s.walk.end(events.Place{Sequence: m.Sequence, At: m.At})
	if !first || s.job.State != events.JobOpen {
		return nil
	}
	return s.cut(ctx, &seal)
}

// finish stores how far the walk has come, when no cut has done so already. A cancel can add to what is counted without a new block.
func (s *session) finish(ctx context.Context) error {
	next := s.job.Job
	s.walk.describe(&next)
	if next.Walked.Sequence == s.job.Walked.Sequence && next.CancelledRows == s.job.CancelledRows {
		return s.flush(ctx) // what a walk repeated; the window may be used again
	}
	return s.cut(ctx, nil)
}

func (s *session) flush(ctx context.Context) error {
	if err := s.window.Flush(ctx); err != nil {
		return fmt.Errorf("store results and dead letters: %w", err)
	}
	return nil
}
