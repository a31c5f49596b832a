package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// bus is where the jobs are: a deployment's, or one in this process.
type bus struct {
	store *jetstore.Store
	close func() error
}

func (o *options) open(ctx context.Context, stderr io.Writer) (*bus, error) {
	if o.nats == "" {
		fmt.Fprintln(stderr, "SIMULATED: the answers are made up, no model runs and nothing is paid. -nats URL works on a deployment.")
		return openLocal(ctx, o.data)
	}
	options := []nats.Option{nats.Name("batchbus-workflow"), nats.MaxReconnects(-1)}
	if o.creds != "" {
		options = append(options, nats.UserCredentials(o.creds))
	}
	conn, err := nats.Connect(o.nats, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to the deployment: %w", err)
	}
	return over(conn, func() error { return nil })
}

// over makes a bus of a connection, and closes it before the rest.
func over(conn *nats.Conn, rest func() error) (*bus, error) {
	store, err := jetstore.Open(conn)
	if err != nil {
		conn.Close()
		return nil, errors.Join(err, rest())
	}
	return &bus{store, func() error { conn.Close(); return rest() }}, nil
}

// maxStore is the most bytes that the embedded bus takes on the disk.
const maxStore = 1 << 30

// openLocal runs a NATS server, all services and the simulator in this process. What is in the folder stays there, and is gone on with.
func openLocal(ctx context.Context, dir string) (*bus, error) {
	ready := make(chan struct{})
	local, err := batchbus.OpenLocal(ctx, batchbus.LocalConfig{
		Dir: dir, Simulate: true, MaxStore: maxStore, Config: batchbus.Config{Ready: func() { close(ready) }},
	})
	if err != nil {
		return nil, fmt.Errorf("open the embedded bus: %w", err)
	}
	serving, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- local.Run(serving) }()
	stop := func() error {
		cancel()
		return errors.Join(<-ended, local.Close())
	}
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		return nil, errors.Join(err, ctx.Err(), local.Close())
	}
	conn, err := local.Connect("workflow")
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return over(conn, stop)
}
