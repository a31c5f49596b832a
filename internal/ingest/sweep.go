package ingest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const (
	// maxHints bounds the rolling jobs that wait to be noted; a hint that is lost is made good by the next search.
	maxHints = 64
	// sealRequestTimeout bounds the publish of one seal to a bus that is full or away.
	sealRequestTimeout = 5 * time.Second
)

// rolling is a rolling job that is or may be open.
type rolling struct{ queue, job string }

// sweeper seals rolling jobs. It learns of them from the worker when they open, which makes seals punctual, and from a search of all
// jobs every interval, which makes them certain.
type sweeper struct {
	bus      *jetstore.Store
	jobs     *jobs.Store
	log      zerolog.Logger
	interval time.Duration
	slack    time.Duration
	observe  obs.Hooks
	hints    chan rolling
	due      map[rolling]time.Time
}

func newSweeper(c Config) *sweeper {
	return &sweeper{
		bus: c.Bus, jobs: c.Jobs, log: c.Log, interval: c.SweepInterval, slack: c.SealSlack, observe: c.Observe,
		hints: make(chan rolling, maxHints), due: make(map[rolling]time.Time),
	}
}

// opened hears of every job that the worker looks up. It never blocks, and is safe for concurrent use.
func (s *sweeper) opened(queue, job string) {
	if !events.IsRolling(job) {
		return
	}
	select {
	case s.hints <- rolling{queue, job}:
	default:
	}
}

// run searches at once and then every interval, and seals what is due in between. It returns nil when ctx has ended.
func (s *sweeper) run(ctx context.Context) error {
	search := time.Now()
	for {
		s.observe.Beat(obs.LoopIngestSweep)
		if !time.Now().Before(search) {
			s.search(ctx)
			search = time.Now().Add(jittered(s.interval))
		}
		s.sealDue(ctx)
		timer := time.NewTimer(time.Until(s.next(search)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case hint := <-s.hints:
			s.note(hint)
		case <-timer.C:
		}
		timer.Stop()
	}
}

func jittered(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1) //nolint:gosec // spreads load, guards nothing
}

// next is when there is something to do again.
func (s *sweeper) next(search time.Time) time.Time {
	for _, at := range s.due {
		if at.Before(search) {
			search = at
		}
	}
	return search
}

func (s *sweeper) note(r rolling) {
	if window, ok := events.ParseRolling(r.job); ok {
		s.due[r] = window.End.Add(s.slack)
	}
}

// search notes every open rolling job that no seal is known of.
func (s *sweeper) search(ctx context.Context) {
	for j, err := range s.jobs.Jobs(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn().Err(err).Msg("search for rolling jobs is cut short")
			}
			return
		}
		if wantsSeal(&j) {
			s.note(rolling{j.Queue, j.Name()})
		}
	}
}

func wantsSeal(j *jobs.Job) bool {
	return events.IsRolling(j.Name()) && j.State == events.JobOpen && j.SealedAt == nil
}

// sealDue asks for the seals whose time has come. What fails is asked for again after the next search.
func (s *sweeper) sealDue(ctx context.Context) {
	now := time.Now()
	for r, at := range s.due {
		if at.After(now) {
			continue
		}
		delete(s.due, r)
		if err := s.askSeal(ctx, r); err != nil && ctx.Err() == nil {
			s.log.Warn().Str("queue", r.queue).Str("job", r.job).Err(err).Msg("rolling job is not sealed yet")
		}
	}
}

// askSeal publishes the seal request of a rolling job that has none. The Nats-Msg-Id keeps replicas from piling them up; one too many
// does no harm. After an error it may be published.
func (s *sweeper) askSeal(ctx context.Context, r rolling) error {
	ctx, cancel := context.WithTimeout(s.bus.Anchor(ctx), sealRequestTimeout)
	defer cancel()
	j, err := s.jobs.Job(ctx, r.queue, r.job)
	if err != nil {
		return err
	}
	if sealed, err := s.sealed(ctx, r); err != nil || sealed || !wantsSeal(&j) {
		return err
	}
	m := &nats.Msg{Subject: events.RequestSubject(r.queue, ""), Header: nats.Header{}}
	m.Header.Set(events.HeaderJob, r.job)
	m.Header.Set(events.HeaderSeal, "true")
	m.Header.Set(nats.MsgIdHdr, "seal-"+r.queue+"-"+r.job)
	if _, err := s.bus.Publish(ctx, m); err != nil {
		return fmt.Errorf("ask for seal: %w", err)
	}
	return nil
}

// sealed looks whether the job's newest block is a seal, which its planner may not have read yet.
func (s *sweeper) sealed(ctx context.Context, r rolling) (bool, error) {
	last, err := s.bus.Last(ctx, jetstore.StreamRows, events.RowsSubject(r.queue, r.job))
	if errors.Is(err, jetstore.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for a seal: %w", err)
	}
	_, sealed := block.ReadSeal(last.Data)
	return sealed, nil
}
