// Package events is the wire contract of batchbus: every subject, header, code and payload that crosses the bus, and nothing else.
// It imports only the standard library, so any Go program can read and write batchbus messages with it.
//
// # What goes where
//
//	upstream ──► batchbus.requests.<queue>[.<job>]          rows in, one message holds one row or several JSONL lines
//	ingest   ──► batchbus.rows.<queue>.<job>                blocks of judged rows (internal, see package block)
//	all      ──► $KV.batchbus_jobs.{job,batch,cursor}.…     the state: [Job], [Batch], [Cursor], changed by compare-and-set only
//	all      ──► batchbus.events.<noun>.<verb>.<queue>.<job>.<id>   one [Event] per change, in the same atomic publish
//	planner, collector ──► batchbus.results.<queue>.<job>.<row>     one [Result] per row, for ever
//	ingest, planner    ──► batchbus.deadletters.<queue>.<job>.<source>  one [DeadLetter] per refused input
//
// A row is identified by (queue, job, custom_id). Its result's subject ends in the row token: the custom_id itself where that is a
// token, else "~" and the hex SHA-256 of it (see [RowToken]), so that one row's result can be awaited by subject by any NATS client.
//
// # Promises
//
// RESULTS never holds two messages for one row: a result is published with expected last subject sequence 0. Fields may be added to a
// payload, never renamed or re-typed; testdata/golden holds one vector a payload, which is never edited. Bodies and answers are spliced
// into payloads byte for byte, never decoded and encoded again.
package events
