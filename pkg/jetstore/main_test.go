package jetstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) {
	// The server leaves this one behind for some seconds when it is shut down just after a stream with sources was made.
	const sourcing = "github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"
	goleak.VerifyTestMain(jetstoretest.Held{M: m}, goleak.IgnoreAnyFunction(sourcing))
}
