// Package jetstoretest gives tests a real server with batchbus' topology: [Start] in real time, [Bubble] in fake time.
//
// In a bubble an AckWait of 30 s, a delayed nak of an hour or a MaxAge of 30 days pass at once, in the order they would in
// reality. It needs three things of the test: a TestMain that calls [Main], no sockets (the fixture's connections
// are in process), and that everything it starts ends within it.
//
// One trap is left. nats.go pools timers for the whole process, and a timer of one bubble ends the process when it is
// reused outside of it. Conn.Flush, Conn.Request, Subscription.NextMsg with a timeout, every Drain, with it the end of a
// service of package micro, and a reconnect use that pool; the variants with a context, and package jetstore, do not.
// Keep them out of bubbles, or keep to one bubble a process.
//
// [Link] is a connection whose replies can be lost, for tests of what an unknown outcome does.
package jetstoretest
