package gateway

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Policies says how a queue's rows are judged.
type Policies interface {
	Policy(ctx context.Context, queue string) (events.Policy, error)
}

// Models lists the models of the provider.
type Models interface {
	Models(ctx context.Context) ([]doubleword.Model, error)
}

// Config is what a gateway is made of.
type Config struct {
	Bus      *jetstore.Store
	Conn     *nats.Conn // the bus' own, by which replicas ask each other
	Policies Policies
	Models   Models // nil: only models that policies name are listed
	Log      zerolog.Logger
	Metrics  *Metrics // nil: nobody counts
	BusID    string

	Listener net.Listener // where calls are taken; Run closes it
	Callers  *Callers     // nil: whoever comes may call, for Queue
	Queue    string       // of whoever comes when there are no Callers. Default "default"
	Linger   time.Duration
	// MaxWait is after how long a call is answered with a handle instead of its result. 0: never, unless the call asks for it.
	MaxWait        time.Duration
	KeepAlive      time.Duration // between two signs of life of an open answer. Default 15 s
	PublishTimeout time.Duration // how long a row waits for a bus that is away or full. Default 10 s
	MaxCalls       int           // open calls at most. Default 10,000
	BodyTimeout    time.Duration // how long a caller may take to send a body, and to take an answer. Default 60 s
	DrainTimeout   time.Duration // how long answers may take after the stop. Default 10 s
	RecordTTL      time.Duration // how long a call can be re-attached to. Default 7 days
}

// Defaults of [Config].
const (
	DefaultLinger    = time.Second
	DefaultKeepAlive = 15 * time.Second
	DefaultMaxCalls  = 10_000
	defaultPublish   = 10 * time.Second
	defaultBody      = time.Minute
	defaultDrain     = 10 * time.Second
	defaultRecordTTL = 7 * 24 * time.Hour
)

// answeredTTL is how long the record of an answered call without an Idempotency-Key stays: for a retry whose answer was lost on the way.
const answeredTTL = time.Hour

func (c Config) withDefaults() (Config, error) {
	if c.Bus == nil || c.Conn == nil || c.Policies == nil || c.Listener == nil {
		return c, errors.New("a gateway needs a bus, its connection, policies and a listener")
	}
	if c.Queue == "" {
		c.Queue = events.DefaultQueue
	}
	if c.MaxCalls <= 0 {
		c.MaxCalls = DefaultMaxCalls
	}
	c.Linger = orDefault(c.Linger, DefaultLinger)
	c.KeepAlive = orDefault(c.KeepAlive, DefaultKeepAlive)
	c.PublishTimeout = orDefault(c.PublishTimeout, defaultPublish)
	c.BodyTimeout = orDefault(c.BodyTimeout, defaultBody)
	c.DrainTimeout = orDefault(c.DrainTimeout, defaultDrain)
	c.RecordTTL = orDefault(c.RecordTTL, defaultRecordTTL)
	return c, nil
}

func orDefault(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}
