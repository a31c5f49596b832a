// Package integration runs all four services in one process on the embedded server, against the provider simulator, and judges what a
// user gets: rows by what the streams hold, money by the simulator's ledger, never by batchbus' own state alone.
//
//	world ── what outlives a stop: the data directory, the provider ──┐
//	stack ── what a stop ends: server, services, connections  ◄───────┘   world.start, stack.stop
//
// Nothing sleeps: tests wait for events, results and dead letters through consumers, as a user's next service would.
package integration_test

import (
	"testing"

	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) { jetstoretest.Verify(m) }
