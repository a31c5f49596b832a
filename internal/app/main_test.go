package app_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleVariable); ok {
		os.Exit(child(role, os.Args[len(os.Args)-1]))
	}
	goleak.VerifyTestMain(m,
		// The embedded server's: it may wait for the answer to its own request some seconds beyond its shutdown.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"))
}
