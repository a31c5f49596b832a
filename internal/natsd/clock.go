package natsd

import "github.com/nats-io/nats-server/v2/server/ats"

// HoldClock keeps nats-server's process-wide access-time ticker running until release is called. A synctest bubble needs
// it held from outside, by TestMain: the ticker would otherwise be started inside the first bubble that starts a server
// and outlive it, which ends that bubble with a leaked-goroutine panic. Call release once.
func HoldClock() (release func()) {
	ats.Register()
	return ats.Unregister
}
