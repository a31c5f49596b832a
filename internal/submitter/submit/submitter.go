package submit

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const (
	busyWait    = 5 * time.Second  // another drive of this process has the batch
	unknownWait = 15 * time.Second // a change's outcome is not known: longer than the bus' request timeout
	staleWindow = 10 * time.Second // a replica that answers with a state from before our own change
	maxSteps    = 64               // of one drive: many more than any way through the states
)

// Submitter drives batches to the provider. It is safe for concurrent use, and any number of processes may drive the same batches.
type Submitter struct {
	config   Config
	patience patience
	memories *memories
	limits   *limits
	places   *places
	capacity *capacity
	proofs   *proofs
}

// New returns a submitter; an error names what the configuration lacks. It does no I/O.
func New(config Config) (*Submitter, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Submitter{config: config, patience: config.patience(), memories: newMemories(), limits: newLimits(), places: &places{}, capacity: newCapacity(), proofs: &proofs{}}, nil
}

// Submit drives one batch as far as it goes now. nil: it is submitted, ended or held. An error of [jetstore.Later]: it has to wait. Other
// errors are the bus' own. It is idempotent: whatever was done or not, the next call finds out. It blocks for an upload and for a POST.
func (s *Submitter) Submit(ctx context.Context, queue, job, n string) error {
	next, err := s.drive(ctx, queue, job, n)
	if err == nil && next.delay > 0 {
		return jetstore.Later(next.delay, errors.New(next.why))
	}
	return err
}

// drive is Submit, with the wait told apart from errors.
func (s *Submitter) drive(ctx context.Context, queue, job, n string) (step, error) {
	key := events.BatchKey(queue, job, n)
	m, ok := s.memories.take(key)
	if !ok {
		return step{delay: busyWait, why: "another drive of this process has the batch"}, nil
	}
	d := &drive{
		Submitter: s, memory: m,
		log: s.config.Log.With().Str("queue", queue).Str("job", job).Str("batch", n).Logger(),
	}
	defer func() { s.memories.give(key, d.over) }()
	next, err := d.run(ctx, queue, job, n)
	if err == nil {
		err = d.alarm(ctx, next)
	}
	return next, err
}

// drive is one call of [Submitter.Submit].
type drive struct {
	*Submitter
	log      zerolog.Logger
	memory   *memory
	batch    jobs.Batch
	job      jobs.Job
	budget   jobs.Budget
	bounds   events.Limits // the queue's, as they are now
	spending spending
	provider Provider
	key      bool
	listed   bool
	listing  []doubleword.Batch
	strange  string // a remote batch of the job that nothing explains, see [drive.unexplained]
	over     bool   // nothing of this batch needs to be remembered
}

// step is how a drive goes on after an action.
type step struct {
	done  bool
	delay time.Duration // 0: go on at once
	why   string
}

// run goes round until there is nothing to do now. A conflict is somebody else's step, and a server that came up since may hold an older
// bus: it reads again, and else goes on from what it wrote, since a lagging replica may not show that yet.
func (d *drive) run(ctx context.Context, queue, job, n string) (step, error) {
	fresh, tied := false, ctx
	for range maxSteps {
		if err := ctx.Err(); err != nil {
			return step{}, err
		}
		if !fresh {
			tied = d.config.Bus.Anchor(ctx) //nolint:fatcontext // made of ctx each time: what is read now is what the changes rest on
			if next, err := d.read(tied, queue, job, n); err != nil || next.delay > 0 {
				return next, err
			}
		}
		next, err := d.do(tied, decide(d.view()))
		fresh = err == nil
		switch {
		case jobs.IsConflict(err), movedAway(err):
			d.log.Debug().Err(err).Msg("what the step rested on is not so any more")
		case isUnknown(err):
			return step{delay: unknownWait, why: err.Error()}, nil
		case err != nil:
			return step{}, err
		case next.done, next.delay > 0:
			return next, nil
		}
	}
	return step{delay: busyWait, why: "the batch went round without an end"}, nil
}

// read reads what the next decision depends on.
func (d *drive) read(ctx context.Context, queue, job, n string) (step, error) {
	var err error
	if d.batch, err = d.config.Jobs.Batch(ctx, queue, job, n); err != nil {
		return step{}, err
	}
	now := time.Now()
	if d.memory.mine && d.batch.Revision < d.memory.revision && now.Sub(d.memory.seenAt) < staleWindow {
		return step{delay: time.Second, why: "the state that was read is older than our own change"}, nil
	}
	d.memory.observe(&d.batch, now)
	if d.job, err = d.config.Jobs.Job(ctx, queue, job); err != nil {
		return step{}, err
	}
	if err = d.readBudget(ctx); err != nil {
		return step{}, err
	}
	d.provider, d.key = d.config.Provider(d.batch.Key)
	d.listed, d.listing = false, nil
	return d.readLimits(ctx)
}

func (d *drive) view() *view {
	v := &view{
		batch: &d.batch.Batch, path: Path(d.config.BusID, &d.batch.Batch), now: time.Now(), cancelled: d.job.CancelWanted != nil, paused: d.job.Hold != nil,
		queueHeld: d.queueHeld(), outranked: d.places.outranked(&d.batch.Batch, d.job.Policy.Priority), spending: d.spending, key: d.key, patience: d.patience, memory: *d.memory, listed: d.listed, listing: d.listing,
		unexplained: d.strange, planned: d.job.State != events.JobOpen,
	}
	if d.key {
		v.can = d.provider.Capabilities()
	}
	return v
}
