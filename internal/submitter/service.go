package submitter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/internal/submitter/plan"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Bus is what the service itself needs of the store.
type Bus interface {
	Each(ctx context.Context, stream, consumer string, o jetstore.EachOptions, handle func(context.Context, jetstore.Delivery) error) error
}

// Planner is the half that plans jobs: a [plan.Planner]. Plan's [plan.ErrBusy] means: ask again soon.
type Planner interface {
	Run(ctx context.Context) error
	Plan(ctx context.Context, queue, job string) error
}

// Batches is the half that carries batches to the provider. Submit is idempotent; its errors are outcomes of [jetstore.Store.Each].
type Batches interface {
	Run(ctx context.Context) error
	Submit(ctx context.Context, queue, job, n string) error
}

// busyDelay is for how long an event is given back whose job is being planned.
const busyDelay = time.Second

// Config says what the service is made of. Bus, Planner and Batches have no default.
type Config struct {
	Bus     Bus
	Planner Planner
	Batches Batches
	Log     zerolog.Logger // the default says nothing
	// Workers is how many events are handled at once, each of which can be an upload. Default 4.
	Workers int
	// DrainTimeout is how long what is under way may go on after the stop. Default 10 s.
	DrainTimeout time.Duration
	// Observe hears what the service does. Default: nobody.
	Observe obs.Hooks
}

func (c Config) withDefaults() (Config, error) {
	if c.Bus == nil || c.Planner == nil || c.Batches == nil {
		return c, errors.New("configure submitter: a bus and both halves are needed")
	}
	if c.Workers <= 0 {
		c.Workers = 4
	}
	if c.DrainTimeout <= 0 {
		c.DrainTimeout = 10 * time.Second
	}
	return c, nil
}

// Service is the submitter. Run it once.
type Service struct{ Config }

// New returns the service. It asks the bus nothing.
func New(c Config) (*Service, error) {
	c, err := c.withDefaults()
	return &Service{Config: c}, err
}

// Name is the service's name.
func (s *Service) Name() string { return "submitter" }

// Run runs both halves and gives them the events, until ctx ends; then it waits for what is under way, for DrainTimeout, and returns nil. A
// half that ends by itself ends the service.
func (s *Service) Run(ctx context.Context) error {
	group, run := errgroup.WithContext(ctx)
	group.Go(func() error { return early(run, s.Planner.Run(run)) })
	group.Go(func() error { return early(run, s.Batches.Run(run)) })
	group.Go(func() error {
		o := jetstore.EachOptions{Workers: s.Workers, DrainTimeout: s.DrainTimeout, Hooks: s.Observe.Loop(obs.LoopSubmitterEvents, s.failed)}
		return early(run, s.Bus.Each(run, jetstore.StreamEvents, jetstore.ConsumerSubmitter, o, s.handle))
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("run halves: %w", err)
	}
	return nil
}

// errEarly is returned when a half stopped although nobody told it to.
var errEarly = errors.New("a half of the submitter stopped by itself")

func early(ctx context.Context, err error) error {
	if err == nil && ctx.Err() == nil {
		return errEarly
	}
	return err
}

func (s *Service) failed(subject string, err error) {
	s.Log.Warn().Err(err).Str("subject", subject).Msg("event failed, trying again")
}

// handle gives an event to the half that it is for.
func (s *Service) handle(ctx context.Context, d jetstore.Delivery) error {
	kind, queue, job, id, err := events.ParseEventSubject(d.Subject)
	if err != nil {
		s.Log.Error().Err(err).Msg("an event's subject is not one of ours")
		return nil
	}
	if kind == events.BatchIsPlanned {
		return s.Batches.Submit(ctx, queue, job, id[:max(0, strings.LastIndexByte(id, '-'))])
	}
	err = s.Planner.Plan(ctx, queue, job)
	if errors.Is(err, plan.ErrBusy) {
		return jetstore.Later(busyDelay, err)
	}
	return err
}
