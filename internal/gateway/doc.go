// Package gateway is an HTTP front door for programs that only know an OpenAI SDK: a call becomes a row, and the row's result is the answer.
//
//	call ──► record (created: nothing may stand there) ──► row, naming its rolling job ──► … ──► result ──► answer ──► record: answered
//	            batchbus_calls                                batchbus.requests.<queue>           │
//	                                                                                              └─ one reader a queue wakes whoever waits
//
// The record comes before the row and says which rolling job the row belongs to. So the row may be published again by anybody at any time, by
// another replica after a crash for instance: it is the same row of the same job, which the planner knows by its source. If the job was sealed
// before the row came, the row ends as the dead letter job_sealed, which is the proof that it was never paid for in that job; only then is the
// record moved, by compare-and-set, to a later job and the row published there. Nothing else ever gives a call a second row.
//
// A call attaches to an earlier one, and so is not paid for again, when
//
//   - the same caller sends the same Idempotency-Key, whose hash is the record's key; another body under it is refused;
//   - or, without one, the bytes are the same and the call says that it is a retry (X-Stainless-Retry-Count), or the earlier one's connection
//     ended before it was answered. Whether a connection is open is known by the replica that holds it, which the record names and which is
//     asked over the bus; one that is gone does not answer. Taking over a call is a compare-and-set of its record, so that two calls with the
//     same bytes never take over the same one.
//
// The body is in no record, only hashes. The caller's key is in nothing but memory; what stands in records is a hash of it and the bus' name.
package gateway
