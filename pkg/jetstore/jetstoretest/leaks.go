package jetstoretest

import "go.uber.org/goleak"

// Verify runs a package's tests by [Main] and fails it when they leave goroutines behind, but for the one that nats-server itself leaves for
// up to 30 s when it is stopped while its events stream waits for an answer about its source:
//
//	func TestMain(m *testing.M) { jetstoretest.Verify(m) }
func Verify(m interface{ Run() int }) {
	goleak.VerifyTestMain(Held{M: m},
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"))
}
