// Package poller follows the batches that the provider runs (design.md 5.5).
//
//	tick of a key ──► due batches of that key? ──► one GET /batches, page by page ──► per batch: [Decide] ──► state + events, by CAS
//	                                                until every due id is seen            │
//	                                                not seen: GET /batches/{id}           └─ batch.progress, batch.finished, batch.overdue
//
// A tick is a repeating message schedule per API key in BATCHBUS_TIMERS: whichever replica takes it polls for that key, and a tick that
// nobody took coalesces with the next. What is due stands in each batch's own next_poll_at, so replicas do not ask twice, and the batches
// of one key share one list call however many they are.
//
// What the provider says is not taken at its word. Terminal is decided by status and counts. An unknown status is not terminal. A 401 or
// 404 for a batch we know is an outage until it has lasted for the patience, and then an event, not an end. A batch in the list whose
// metadata names a path of this bus must be the one that the path's state names: another one is a twin, and one without a state an
// orphan; both are events.
package poller
