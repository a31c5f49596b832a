package batchbus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/app"
)

// LocalConfig is what [OpenLocal] opens and [Local.Run] runs.
type LocalConfig struct {
	// Dir holds the data. One process at a time may have it open, and it stays bound to the provider of its first time.
	Dir string
	// Listen is an address where the server takes clients of other processes, such as 127.0.0.1:4222; empty: none.
	Listen string
	// MaxStore is the most bytes of all streams together; 0: a share of the free disk.
	MaxStore int64
	// Simulate takes the built-in simulator for the provider: its answers are made up, no model runs and nothing is paid. Config's BaseURL,
	// Transport and the keys, but for their names, mean nothing then.
	Simulate bool
	// Config is what services run with; Conn, Setup and Topology are Local's own and mean nothing.
	Config
}

// Local is a NATS server in this process, for a program that has no other.
type Local struct {
	local  *app.Local
	config LocalConfig
}

// OpenLocal starts the server on the folder, and with Simulate the simulator, and returns once clients are served. The folder being open in
// another process, or bound to another provider, is an error at once. Close what it returns.
func OpenLocal(ctx context.Context, c LocalConfig) (*Local, error) {
	o, err := c.options()
	if err != nil {
		return nil, err
	}
	times := app.DefaultSettings()
	if c.Simulate {
		times = app.SimulatedSettings()
	}
	local, err := app.OpenLocal(ctx, app.LocalOptions{
		Dir: c.Dir, Listen: c.Listen, MaxStore: c.MaxStore, Simulate: c.Simulate, BaseURL: o.BaseURL, Keys: o.Keys,
		Settings: c.Times.OrElse(times), Calls: o.Calls, Prices: o.Prices, Log: o.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", c.Dir, err)
	}
	return &Local{local, c}, nil
}

// Run makes the server's topology, at its first time, and runs services on it as [Run] does.
func (l *Local) Run(ctx context.Context) error {
	o := l.local.Options()
	if l.config.Services != nil {
		o.Services = l.config.Services
	}
	if !l.config.Simulate {
		o.Transport = l.config.Transport
	}
	o.WithoutAPI, o.Admin, o.Registry, o.Ready = l.config.WithoutAPI, l.config.Admin, l.config.Registry, l.config.Ready
	return app.Run(ctx, o)
}

// Connect opens a connection to the server that no network carries. Close it. What it serves is there once [Local.Run] has called Ready.
func (l *Local) Connect(name string) (*nats.Conn, error) {
	conn, err := l.local.Options().Dial(name)
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", name, err)
	}
	return conn, nil
}

// ClientURL is where clients of other processes reach the server; empty when it does not listen.
func (l *Local) ClientURL() string { return l.local.ClientURL() }

// Close stops the server and gives the folder free; what it holds stays. Call it after every [Local.Run] has returned.
func (l *Local) Close() error { return l.local.Close() }
