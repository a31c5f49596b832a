package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// ErrBusy is returned when the job is being planned by another goroutine of this process, which will go on to what is new.
var ErrBusy = errors.New("the job is being planned")

// maxRaces is how often a job is started over at once because another planner was first.
const maxRaces = 5

// busyDelay is for how long a wake-up is given back whose job is being planned.
const busyDelay = time.Second

// Planner plans jobs. It is safe for concurrent use.
type Planner struct {
	Config
	desk  *desk
	seats *seats
}

// New returns a planner. It asks the bus nothing.
func New(c Config) (*Planner, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Planner{Config: c, seats: newSeats(), desk: &desk{
		rows: c.Bus, blocks: c.Bus, fit: c.Bus, jobs: c.Jobs, patience: c.ObjectPatience, manifestAge: c.ManifestAge, observe: c.Observe,
		newWindow: func() window { return c.Bus.NewWindow(c.InFlight) },
	}}, nil
}

// Run takes the wake-ups of BATCHBUS_ROWS and sweeps, until ctx ends; walks that are under way may then go on for DrainTimeout. It
// returns nil then.
func (p *Planner) Run(ctx context.Context) error {
	var sweeper sync.WaitGroup
	defer sweeper.Wait()
	sweeper.Go(func() { p.sweepAll(ctx) })
	o := jetstore.EachOptions{Workers: p.Workers, DrainTimeout: p.DrainTimeout, Hooks: p.Observe.Loop(obs.LoopPlannerRows, p.failed)}
	return p.Bus.Each(ctx, jetstore.StreamRows, jetstore.ConsumerPlanner, o, p.wake)
}

func (p *Planner) failed(subject string, err error) {
	p.Log.Warn().Err(err).Str("subject", subject).Msg("planning failed, trying again")
}

// wake plans the job of a block. Nil means that the block is planned, or that the sweeper will see to it.
func (p *Planner) wake(ctx context.Context, d jetstore.Delivery) error {
	queue, name, err := events.ParseRowsSubject(d.Subject)
	if err != nil {
		p.Log.Error().Err(err).Msg("a block stands on a subject that is no job's")
		return nil
	}
	job, err := p.Jobs.Job(ctx, queue, name)
	switch {
	case errors.Is(err, jetstore.ErrNotFound):
	case err != nil:
		return err
	case job.Walked.Sequence >= d.Sequence && !d.At.After(job.Walked.At):
		return nil
	case p.elsewhere(&job, d.Delivered):
		return jetstore.Later(p.HandoffDelay, nil)
	}
	err = p.Plan(ctx, queue, name)
	if errors.Is(err, ErrBusy) {
		return jetstore.Later(busyDelay, err)
	}
	return err
}

// elsewhere tells whether another replica is likely to have the job's index: it was walked, and not here. The wake-up is given back
// twice, in which time that one gets it or another block of the job. When it does not, because it is gone, this one replays.
func (p *Planner) elsewhere(job *jobs.Job, delivered int) bool {
	return delivered <= 2 && job.State == events.JobOpen && job.Walked.Sequence > 0 && !p.seats.known(seatName(job.Queue, job.Name()))
}

// Plan walks the job's blocks up to the newest, from where the walk in memory or else the first block is, and stores what follows from
// them; a job that nobody opened is opened. It blocks for as long as that takes. It is idempotent, also over crashes and with other
// planners at the same job. A job on hold is left alone, without an error. [ErrBusy]: nothing was done here. After another error any part
// of it is stored, and the next Plan goes on.
func (p *Planner) Plan(ctx context.Context, queue, job string) error {
	key := seatName(queue, job)
	taken := p.seats.take(key)
	if taken == nil {
		return ErrBusy
	}
	for {
		err := p.race(ctx, taken, queue, job)
		if err != nil {
			err = fmt.Errorf("plan %s/%s: %w", queue, job, err)
		}
		if p.seats.leave(key, taken, err != nil) {
			return err
		}
	}
}

func seatName(queue, job string) string { return queue + "." + job }

// race goes on as long as other planners are first, or the bus changes its server: what was stored before is not known to be there.
func (p *Planner) race(ctx context.Context, s *seat, queue, job string) error {
	for try := 1; ; try++ {
		err := p.plan(ctx, s, queue, job)
		if !errors.Is(err, errStale) && !errors.Is(err, jetstore.ErrOtherServer) || try == maxRaces {
			return err
		}
		p.Log.Debug().Str("queue", queue).Str("job", job).Err(err).Msg("starting over")
	}
}

// plan makes one run of a session that rests on the job's state as it is now. The seat keeps the session when the job goes on.
func (p *Planner) plan(ctx context.Context, s *seat, queue, name string) error {
	had := s.session
	s.session = nil
	ctx = p.desk.blocks.Anchor(ctx)
	job, err := p.open(ctx, queue, name)
	if err == nil {
		job, err = p.desk.unheld(ctx, job)
	}
	if err != nil || job.Hold != nil {
		return err
	}
	if had == nil || !samePlan(&had.job.Job, &job.Job) {
		had = p.desk.session(job)
	}
	had.job = job
	err = had.run(ctx)
	if why, held := errors.AsType[*holdError](err); held {
		p.Log.Error().Str("queue", queue).Str("job", name).Err(err).Msg("job is held")
		return p.desk.hold(ctx, had.job, why)
	}
	if err != nil {
		return err
	}
	if had.job.State == events.JobOpen {
		s.session = had
		return nil
	}
	if job.State == events.JobOpen {
		p.Log.Info().Str("queue", queue).Str("job", name).Int("rows", had.job.Rows).Int("batches", had.job.Batches).Msg("job is planned")
	}
	_, err = p.Jobs.Complete(ctx, queue, name)
	return err
}

func (p *Planner) open(ctx context.Context, queue, name string) (jobs.Job, error) {
	job, err := p.Jobs.Job(ctx, queue, name)
	if !errors.Is(err, jetstore.ErrNotFound) {
		return job, err
	}
	policy, err := p.Policy(ctx, queue)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("read policy: %w", err)
	}
	return p.Jobs.Open(ctx, queue, name, jobs.Options{Policy: policy})
}
