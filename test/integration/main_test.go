// Package integration runs all four services in one process on the embedded server, against the provider simulator, and judges what a
// user gets: rows by what the streams hold, money by the simulator's ledger, never by batchbus' own state alone.
//
//	world ── what outlives a stop: the data directory, the provider ──┐
//	stack ── what a stop ends: server, services, connections  ◄───────┘   world.start, stack.stop
//
// Nothing sleeps: tests wait for events, results and dead letters through consumers, as a user's next service would.
package integration_test

import (
	"flag"
	"testing"

	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) {
	// Each check of a property is a whole job here, a second of work. -rapid.checks on the command line overrules this.
	if err := flag.Set("rapid.checks", "8"); err != nil {
		panic(err)
	}
	jetstoretest.Verify(m)
}
