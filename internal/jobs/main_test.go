package jobs_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) {
	// A server that is stopped while its events stream connects to its source leaves this wait behind for seconds.
	goleak.VerifyTestMain(jetstoretest.Held{M: m},
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"))
}
