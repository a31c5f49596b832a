// Package collector is the service that brings answers home: it reads the output and error files of a batch, publishes one result
// per row, and settles the batch when every row has one.
//
//	batch.progress ─┐                    ┌─ output file from the cursor: successes are published at once
//	batch.finished ─┼─► one batch ───────┤
//	sweeper ────────┘   (keyed lock)     └─ finished: error file too: failures are published, they are final now
//	                                            │
//	              every place has its bit? ─ no ─► read both files from 0, then page by page, then the merged results
//	                          │                    │ still missing: wait the grace, once, visibly in the batch's state
//	                         yes                   └► absent rows: cancelled, expired, failed, or a follow-up (fenced batch)
//	                          │
//	                          └─► settle publish (package jobs) ─► job complete?
//
// # Reading
//
// A file is read as a stream from the cursor and split on LF alone. The cursor moves by complete lines received and never by what a
// header promises. It is a saving and no proof: rows can surface behind it and a server can ignore it, so a row is told by its place
// in the manifest, which its wire id names, and a place is answered once however often its line comes. A line that is no JSON is
// passed over; its row is then missing and looked for again. An id that nobody sent is an event, never somebody's answer. In a batch that was
// planned with other rows, and that a person had adopted, a place tells nothing: an id counts there only if it holds the whole custom_id of the
// row that is planned at its place.
//
// # Publishing
//
// A result goes to its row's own subject, which must be empty, many under way at once. Then one compare-and-set moves the cursor: lines of
// both files, one bit per place whose result is stored, and totals, in which a row counts only when its bit is new in the revision
// replaced. So two collectors on one batch, or one that starts again in the middle, publish each row once and count it once.
//
// # Waiting
//
// A batch whose answers take longer than a second gives its worker to another one and goes on beside it, so batches that hang hold up nobody; of
// downloads that stand still while others wait for their places in the budget, all but half give way (package doubleword), and their
// batches come again after a pause that doubles.
//
// What waits says so in the batch's state: why, until when, and the last error. Hints are acknowledged when the state alone can bring the
// work back, which is the sweeper's part.
package collector
