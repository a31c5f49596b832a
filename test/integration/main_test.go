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

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// nats-server waits for the answer of a source consumer for up to 30 s, also when it is shut down meanwhile.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"))
}
