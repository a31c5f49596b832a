// Package rowstats counts what files of rows hold, in one pass and the same memory for any number of rows.
//
//	row ─┬─ size ──────────► a histogram: exact below 512 bytes, buckets of 1/256 above
//	     ├─ url and model ─► a group: rows, bytes, tokens by package estimate, batches as the planner would cut them
//	     └─ custom_id ─────► package distinct: exact, sorted on disk beyond a million rows
//
// Memory grows with the number of different groups alone, of which a job takes 64; what has none is a bad row of some code.
package rowstats
