package poller_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(jetstoretest.Held{M: m},
		// The embedded server's: it may wait for the answer to its own request some seconds beyond its shutdown.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"))
}
