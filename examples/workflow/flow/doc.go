// Package flow leads rows through stages of batch jobs until a model has answered each of them.
//
//	rows ──► job NAME ──results──► calls of tools ──receipts──► rows ──► job NAME-2 ──results──► …
//	            │                                                           │
//	            └── answered, failed, capped: reported                      └── …
//
// # What makes it resumable
//
// A stage's rows are a function of the stage before: its rows, its results, which are final, and the receipts of its tool calls, which are stored
// once and never changed. So a program that was killed does everything again from the first stage on, in memory, and does to the outside only what
// is missing. The outside effects are four, and each may be repeated:
//
//	open a job       the same job, or an error when the rows differ
//	publish a row    the bus knows its id
//	seal             the bus knows its id
//	store a receipt  the first one stands, whoever stored it
//
// A stage that was published has a receipt of its own, and is never published again, however old it gets. A tool whose call was not stored runs
// again, which is harmless, since tools only read.
//
// # What ends it
//
// Caps bound stages, rows, calls and bytes. What they cut off is decided when results are read, in the order in which the bus has them, and stored
// with the receipts: it is the same in every run, and a row that a cap has ended stays so.
package flow
