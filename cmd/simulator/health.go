package main

import (
	"context"
	"fmt"
	"net"
	"time"
)

const probeTimeout = 2 * time.Second

// probe tells whether something takes connections at the address that a simulator with the same settings listens on.
func probe(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("parse --listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	dialer := net.Dialer{Timeout: probeTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return fmt.Errorf("ask simulator: %w", err)
	}
	return conn.Close() //nolint:wrapcheck // nothing was sent, nothing can be lost
}
