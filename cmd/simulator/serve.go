package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

const (
	headerTimeout = 10 * time.Second
	// stopTimeout is how long running replies may take after a signal.
	stopTimeout = 5 * time.Second
)

// serve says where it listens and answers until ctx ends; then it finishes running replies and stops.
func serve(ctx context.Context, o options, out io.Writer) error {
	config, err := o.config()
	if err != nil {
		return err
	}
	sim, err := simulator.New(config)
	if err != nil {
		return fmt.Errorf("open simulator: %w", err)
	}
	listener, scheme, err := listen(ctx, &o)
	if err != nil {
		return errors.Join(err, sim.Close())
	}
	const hello = "This is a simulator: nothing is paid and no model runs. Base URL %s://%s/v1\n"
	if _, err := fmt.Fprintf(out, hello, scheme, listener.Addr()); err != nil {
		return errors.Join(fmt.Errorf("say hello: %w", err), listener.Close(), sim.Close())
	}
	server := &http.Server{Handler: sim, ReadHeaderTimeout: headerTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		err = shutDown(ctx, server)
	}
	return errors.Join(err, sim.Close())
}

// listen opens the address, with TLS when a certificate is named.
func listen(ctx context.Context, o *options) (listener net.Listener, scheme string, err error) {
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return nil, "", errors.New("--tls-cert and --tls-key need each other")
	}
	var config net.ListenConfig
	if listener, err = config.Listen(ctx, "tcp", o.Listen); err != nil {
		return nil, "", fmt.Errorf("listen: %w", err)
	}
	if o.TLSCert == "" {
		return listener, "http", nil
	}
	pair, err := certificate(o.TLSCert, o.TLSKey, o.TLSHosts)
	if err != nil {
		return nil, "", errors.Join(err, listener.Close())
	}
	return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}), "https", nil
}

// shutDown waits for running replies and cuts off what takes too long.
func shutDown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("finish running replies: %w", err), server.Close())
	}
	return nil
}
