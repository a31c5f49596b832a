package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/api"
	"github.com/batchbus/batchbus/internal/natsd"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// LocalOptions are what [OpenLocal] opens.
type LocalOptions struct {
	// Dir is the data directory; see [LockDir].
	Dir string
	// Listen is where the embedded server takes clients of other processes; empty: none.
	Listen string
	// MaxStore is the most bytes of the streams together; 0: a share of the free disk.
	MaxStore int64
	// KeyFile names the file whose content encrypts the store; empty: not encrypted.
	KeyFile string
	// Inspect opens a directory that is there, whatever provider it serves, to be looked at: no services can run, and the fields below but
	// Log mean nothing. See [Local.Answer].
	Inspect bool
	// Simulate runs the simulator as the provider, with its data below Dir; otherwise BaseURL and Keys are the real one's.
	Simulate  bool
	Simulator SimulatorFlags
	BaseURL   string
	Keys      map[string]doubleword.Secret
	Settings  Settings
	Calls     doubleword.BudgetConfig
	Prices    *prices.Table // nil knows no price
	Log       zerolog.Logger
}

// localAckWait is after how long what a killed run had in hand is taken up by the next one. There is no other process that could still be
// at it, so it can be short; the services keep what they are at longer from each other by themselves.
const localAckWait = 5 * time.Second

// Local is an embedded server, and the simulator if it was asked for, on a locked data directory.
type Local struct {
	lock      *DirLock
	server    *natsd.Server
	simulator *http.Server
	fake      *simulator.Simulator
	served    chan struct{}
	options   Options
}

// OpenLocal locks the directory, starts the embedded server and, when simulating, the simulator on a loopback port. The error of a busy
// directory is a [*DirBusyError], of one that serves another provider a [*DirProviderError]. Close what it returns.
func OpenLocal(ctx context.Context, o LocalOptions) (*Local, error) {
	l := &Local{}
	if err := l.open(ctx, &o); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Local) open(ctx context.Context, o *LocalOptions) (err error) {
	if l.lock, err = o.lock(); err != nil {
		return err
	}
	l.server, err = natsd.Start(ctx, natsd.Options{
		Dir: filepath.Join(o.Dir, "nats"), Listen: o.Listen, MaxStore: o.MaxStore, KeyFile: o.KeyFile,
		LogTo: func(line string) { o.Log.Warn().Str("from", "nats-server").Msg(line) },
	})
	if err != nil {
		return err
	}
	l.options = Options{
		Services: Names(), Dial: l.dial, BaseURL: o.BaseURL, Keys: o.Keys, Settings: o.Settings, Prices: o.Prices, Calls: o.Calls, Log: o.Log,
		HandoffDelay: time.Millisecond, // there is no other replica on an embedded server
		Setup:        true, Topology: jetstore.Settings{MaxStore: l.server.MaxStore(), KeepSizes: true, GrowSizes: true, AckWait: localAckWait},
	}
	if o.Simulate && !o.Inspect {
		return l.simulate(o)
	}
	return nil
}

// lock locks the directory for what is to be done with it.
func (o *LocalOptions) lock() (*DirLock, error) {
	switch {
	case o.Inspect:
		return LockExisting(o.Dir)
	case o.Simulate:
		return LockDir(o.Dir, "simulator")
	}
	if err := checkURL(o.BaseURL); err != nil {
		return nil, err // before the directory is given to a provider that cannot be
	}
	return LockDir(o.Dir, o.BaseURL)
}

func (l *Local) dial(name string) (*nats.Conn, error) {
	return l.server.Connect(nats.Name(name), nats.MaxReconnects(-1))
}

// simulate serves the simulator on a loopback port and makes it the provider.
func (l *Local) simulate(o *LocalOptions) (err error) {
	dir := filepath.Join(o.Dir, "simulator")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make simulator directory: %w", err)
	}
	if l.fake, err = simulator.New(o.Simulator.config(dir)); err != nil {
		return fmt.Errorf("start simulator: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	if err != nil {
		return fmt.Errorf("listen for the simulator: %w", err)
	}
	l.simulator = &http.Server{Handler: l.fake, ReadHeaderTimeout: time.Minute}
	l.served = make(chan struct{})
	go func() {
		defer close(l.served)
		_ = l.simulator.Serve(listener) // always ErrServerClosed: Close ends it
	}()
	l.options.BaseURL = "http://" + listener.Addr().String() + "/v1"
	l.options.Keys = map[string]doubleword.Secret{DefaultKey: doubleword.NewSecret("simulated")}
	for name := range o.Keys { // a queue may name one, and none of them is shown to the simulator
		l.options.Keys[name] = doubleword.NewSecret("simulated")
	}
	return nil
}

// Options are what [Run] needs to run all services on l.
func (l *Local) Options() Options { return l.options }

// Answer runs a replica of the control API until stop is called, and nothing else: what it is asked to publish waits in the store until
// services run on it.
func (l *Local) Answer(ctx context.Context) (stop func() error, err error) {
	nc, err := l.dial("batchbus-api")
	if err != nil {
		return nil, err
	}
	d, err := open(ctx, &l.options, nc, Ingest, true)
	if err != nil {
		nc.Close()
		return nil, err
	}
	answers, err := api.New(api.Config{Bus: d.bus, Jobs: d.jobs, Log: d.log("api")})
	if err != nil {
		nc.Close()
		return nil, err
	}
	answering, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- answers.Run(answering) }()
	return func() error {
		defer nc.Close()
		cancel()
		return <-ended
	}, nil
}

// ClientURL is where clients of other processes reach the bus; empty when it does not listen.
func (l *Local) ClientURL() string { return l.server.ClientURL() }

// Close stops what [OpenLocal] started and releases the directory. Call it after [Run] has returned.
func (l *Local) Close() error {
	var err error
	if l.simulator != nil {
		err = l.simulator.Close()
		<-l.served
	}
	if l.fake != nil {
		err = errors.Join(err, l.fake.Close())
	}
	if l.server != nil {
		l.server.Shutdown()
	}
	if l.lock != nil {
		err = errors.Join(err, l.lock.Release())
	}
	return err
}
