package keep

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Defaults of [Config].
const (
	DefaultInterval  = 10 * time.Minute // keep times are days
	DefaultObjectAge = 24 * time.Hour   // design.md section 2: longer than any message can lag behind its object
)

// Config says how long things are kept. Bus and Jobs have no default; how long rows are kept is in each job's policy.
type Config struct {
	Bus  *jetstore.Store
	Jobs *jobs.Store
	Log  zerolog.Logger // the default says nothing
	// Interval is the time between two sweeps, jittered by a tenth. Default [DefaultInterval].
	Interval time.Duration
	// ObjectAge is how long an object may be named by nobody. Default [DefaultObjectAge].
	ObjectAge time.Duration
	// Beat is called at each sweep and while one goes on. Default: nobody.
	Beat func()
}

// Keeper sweeps. Run it once.
type Keeper struct {
	Config
	// named remembers the message that names an object, by the object's name, so that a subject with many messages is searched once.
	named map[string]uint64
}

// New checks the config. It asks the bus nothing.
func New(c Config) (*Keeper, error) {
	if c.Bus == nil || c.Jobs == nil {
		return nil, errors.New("configure keeper: a bus and the jobs on it are needed")
	}
	if c.Interval <= 0 {
		c.Interval = DefaultInterval
	}
	if c.ObjectAge <= 0 {
		c.ObjectAge = DefaultObjectAge
	}
	if c.Beat == nil {
		c.Beat = func() {}
	}
	return &Keeper{Config: c, named: make(map[string]uint64)}, nil
}

// Name is "keeper".
func (k *Keeper) Name() string { return "keeper" }

// Run sweeps, at once and then every Interval, until ctx ends; then it returns nil. What a sweep could not do the next one does. It may run
// in as many processes at once as one likes.
func (k *Keeper) Run(ctx context.Context) error {
	for {
		if err := k.Sweep(ctx); err != nil && ctx.Err() == nil {
			k.Log.Warn().Err(err).Msg("sweep of what is kept long enough ended early")
		}
		timer := time.NewTimer(k.Interval - k.Interval/10 + rand.N(k.Interval/5+1)) //nolint:gosec // spreads load, guards nothing
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// Sweep deletes once what is due. It is idempotent; after an error some of it may be deleted.
func (k *Keeper) Sweep(ctx context.Context) error {
	ctx = k.Bus.Anchor(ctx)
	return errors.Join(k.sweepRows(ctx), k.sweepObjects(ctx), k.sweepRemnants(ctx))
}

// sweepRows purges the blocks of jobs that were completed long enough ago.
func (k *Keeper) sweepRows(ctx context.Context) error {
	counts, err := k.Bus.SubjectCounts(ctx, jetstore.StreamRows, events.PrefixRows+">")
	if err != nil {
		return fmt.Errorf("sweep rows: %w", err)
	}
	for j, err := range k.Jobs.Jobs(ctx) {
		if err != nil {
			return fmt.Errorf("sweep rows: %w", err)
		}
		k.Beat()
		if counts[events.RowsSubject(j.Queue, j.Name())] == 0 || !isOver(&j.Job, time.Now()) {
			continue
		}
		purged, err := purgeRows(ctx, k.Bus, &j)
		if err != nil {
			return err
		}
		if purged {
			k.Log.Info().Str("queue", j.Queue).Str("job", j.Name()).Msg("the rows of the job are purged: their keep time is over")
		}
	}
	return nil
}

// isOver tells whether a job's rows have been kept long enough.
func isOver(j *events.Job, now time.Time) bool {
	keepTime := time.Duration(j.Policy.KeepRowsSeconds) * time.Second
	return j.State == events.JobCompleted && !now.Before(j.SinceAt.Add(keepTime))
}

// purgeRows purges the blocks up to walked, if the block there is the one that the state means. It is idempotent.
func purgeRows(ctx context.Context, bus *jetstore.Store, j *jobs.Job) (purged bool, err error) {
	subject := events.RowsSubject(j.Queue, j.Name())
	m, err := bus.At(ctx, jetstore.StreamRows, j.Walked.Sequence)
	switch {
	case errors.Is(err, jetstore.ErrNotFound):
		return false, nil // purged, or an older bus
	case err != nil:
		return false, fmt.Errorf("read last block of %s: %w", subject, err)
	case m.Subject != subject || !m.At.Equal(j.Walked.At):
		return false, nil // the planner holds the job and says why
	}
	if err := bus.Purge(ctx, jetstore.StreamRows, subject, j.Walked.Sequence); err != nil {
		return false, fmt.Errorf("purge rows: %w", err)
	}
	return true, nil
}
