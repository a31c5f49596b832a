// Package jetstore uses NATS JetStream as the only store of batchbus.
//
// # Topology
//
// [Setup] creates the streams, buckets and consumers from one table (topology.go) and reports what differs from it; it
// never changes a live stream. Services only [Open] a store and need no administrator's rights.
//
// # State and events are one write
//
// The jobs stream is a KV bucket and the outbox at once. [Store.Commit] stores a record's new value, on the condition that
// the old one still stands, and the event of that change in one atomic publish; the events stream copies the event from
// there, with the server's own exactly-once sourcing:
//
//	Commit ──► KV_batchbus_jobs   $KV.batchbus_jobs.job.default.nightly            (expects revision 41)
//	           one publish        batchbus.events.job.completed.default.nightly.0  (expects none, TTL 7 d)
//	                                        │ sourced
//	                                        ▼
//	                              BATCHBUS_EVENTS ──► consumers of services and people
//
// So there is no state without its event and no event without its state, whichever process dies. A revision is the
// stream's sequence and serves as the fencing token. A reply that got lost is resolved by reading: each message of a
// commit carries a nonce and the revision it expects, so what stands on a subject tells whose write it was and what it
// replaced.
//
// # What is durable when
//
// A publish that returned without an error outlives the death of the server. Power loss takes what the server had not
// synced yet, up to two minutes with its defaults on one replica, and then sequences are used again. An ack of a
// consumer may be forgotten when the server dies, within 100 ms. Handlers are therefore idempotent, by [Store.PublishOnce]
// and by Commit's expectations.
//
// # Outcomes
//
// [Classify] is the one function that judges the error of a publish. The mapping of a handler's outcome to ack, delayed nak
// or dead letter is in one place too, outcome.go. A message is terminated only after its dead letter is stored.
//
// # Reading
//
// [Store.Get], [Store.First], [Store.Last] and [Store.At] ask a stream's leader: their "not found" can be relied on.
// [Store.Read] and [Store.Entries] page through what any replica answers, and wait for one that lags.
//
// # Consuming
//
// [Store.Each] and [Store.Batches] pull in a loop and survive reconnects, leader changes and the deletion of the consumer.
// Payloads are never decoded here: bytes in are the bytes out.
package jetstore
