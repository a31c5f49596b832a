// Package ingest is the service that turns what upstream published into blocks of judged rows.
//
//	batchbus.requests.<queue>[.<job>]         (work queue: acked means deleted)
//	        │ fetch of up to 500 messages
//	        ▼
//	  each message: subject, headers ──► refused whole ─────────────────► batchbus.deadletters.<queue>.<job>.<source>
//	        │ object behind it read                                                     ▲
//	        ▼                                                                           │
//	  each row alone, under the policy ──► no custom_id to answer ──────────────────────┘
//	  snapshot of its job (opened here)
//	        │ good, or refused with its custom_id
//	        ▼
//	  one block a job and fetch ────────────────────────────────────────► batchbus.rows.<queue>.<job>
//	        │ stored                                                                    ▲
//	        ▼                                                                           │
//	  ack of the message ──► seals, oldest message left on their subject ── seal block ─┘
//
// # Promises
//
// Nothing is acked before everything that follows from it is stored, and nothing is ever terminated. A message that comes again has the
// same rows with the same sources, so the planner knows them, and its dead letters meet themselves. Ingest publishes no result: who
// owns a custom_id is the planner's decision, by the order of the blocks.
//
// # Seals
//
// A seal is a message like the rows before it, and may be handled by another replica than they. It is obeyed when the stream's leader
// says that it is the oldest message left on its subject; until then it is given back for a moment. A fetch therefore handles rows first
// and waits for the server's word on the last of their acks, so that the usual seal, right behind its rows, needs one look. A seal for a
// job that nobody sent rows for opens it.
//
// Rows on batchbus.requests.<queue> belong to the rolling job of the time window that their stream timestamp falls into. Nobody but
// batchbus can know when such a window is over, so the sweeper asks for its seal, by a message on the queue's subject with the header
// Batchbus-Job; it is obeyed when no message older than the window's end is left there. The same header from somebody else seals no
// other job: that is a dead letter bad_subject, and so is a seal on a queue's subject without it.
//
// A cancel is noted in the job's state when it is first seen, then it is a seal.
//
// # What waits
//
// What fails is given back with a delay that grows to five minutes; a job that may not be opened because ROWS is nearly full waits a
// minute at a time; an absent object is waited for ten minutes. All of it stays in BATCHBUS_REQUESTS, whose oldest message's age the
// other services' sweepers report.
//
// # Dead letters without a job
//
// A request on a bad subject has no queue or no job. "_" stands in their place, in the subject and in the body.
package ingest
