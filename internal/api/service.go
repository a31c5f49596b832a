package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/internal/room"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Config is what the service needs and may be told. Bus and Jobs are required.
type Config struct {
	Bus  *jetstore.Store
	Jobs *jobs.Store
	Log  zerolog.Logger // the default says nothing
	// Queues are the policies of queues. Default: those on Bus.
	Queues Queues
	// Prices says what rows may cost. Default: nobody knows.
	Prices *prices.Table
	// RequestTimeout is how long one request may take. Default 20 s; forgetting a job may take ten times as long.
	RequestTimeout time.Duration
	// DrainTimeout is how long a request in hand may go on after the stop. Default 10 s.
	DrainTimeout time.Duration
}

// version is what the micro protocol wants to know; what the API can do is in docs/events.md.
const version = "1.0.0"

// Service answers requests. It is one replica of the control API. Run it once.
type Service struct {
	Config
	client *client.Client
	room   *room.Room
}

// New checks the config. It asks nobody anything.
func New(c Config) (*Service, error) {
	if c.Bus == nil || c.Jobs == nil {
		return nil, errors.New("new control API: no bus or no jobs")
	}
	if c.Queues == nil {
		c.Queues = queues.New(c.Bus, 0)
	}
	if c.RequestTimeout <= 0 {
		c.RequestTimeout = 20 * time.Second
	}
	if c.DrainTimeout <= 0 {
		c.DrainTimeout = 10 * time.Second
	}
	return &Service{Config: c, client: client.New(c.Bus), room: room.New(c.Bus, c.Log)}, nil
}

// Name is "api".
func (s *Service) Name() string { return "api" }

// Run answers until ctx ends and the requests in hand are answered, for which they have DrainTimeout; then it returns nil. It may run in as
// many processes at once as one likes.
func (s *Service) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	service, err := micro.AddService(s.Bus.JetStream().Conn(), micro.Config{
		Name: events.APIService, Version: version, Description: "Control of batchbus: opens, seals, shows, cancels, retries and forgets jobs, ends holds, and keeps the policies of queues.",
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) { s.Log.Warn().Err(err).Msg("control API") },
	})
	if err != nil {
		return fmt.Errorf("add micro service: %w", err)
	}
	var inHand door
	for _, e := range s.endpoints() {
		handler := micro.HandlerFunc(func(r micro.Request) { inHand.pass(func() { s.handle(work, e, r) }) })
		if err := service.AddEndpoint(e.name, handler, micro.WithEndpointSubject(events.APISubject(e.name))); err != nil {
			return errors.Join(fmt.Errorf("add endpoint %s: %w", e.name, err), service.Stop())
		}
	}
	<-ctx.Done()
	late := time.AfterFunc(s.DrainTimeout, cancel)
	defer late.Stop()
	err = service.Stop()
	inHand.close()
	if err != nil {
		return fmt.Errorf("stop micro service: %w", err)
	}
	return nil
}

// door lets requests in until it is closed. What comes later gets no answer from here: whoever asked asks again.
type door struct {
	mu     sync.RWMutex
	closed bool
}

func (d *door) pass(do func()) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if !d.closed {
		do()
	}
}

// close waits for those who passed.
func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}
