// Package rig runs batchbus as people deploy it, for tests: a real nats-server, the provider's simulator and each service as processes of
// their own, that a test may kill, stop, pause and start again.
//
//	test ──publishes, reads streams────▶ nats-server ◀──[way]── ingest, submitter, poller, collector (N replicas each)
//	 └─────reads the ledger────────────▶ simulator   ◀──[way]───────────┘
//
// A way is an address that services are given instead of the direct one: a test puts its proxies there (Shape.Ways). The test itself
// always goes the direct way, so that it judges what is and not what a proxy lets through.
//
// [Run] builds the programs once per test binary, always without the race detector, whose memory and time would be what is measured.
// What a test claims, it claims by what stands in the streams and by the simulator's ledger.
//
// Nothing here is safe for concurrent use but what says so, and a test's goroutines other than its first use what returns errors.
package rig
