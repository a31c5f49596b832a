// Package jobs is what the services share of a job's state: reading [events.Job], [events.Batch] and [events.Cursor] from the bucket
// batchbus_jobs, changing them by compare-and-set together with the events that tell of it, and the two transitions that more than one
// service makes: settling a batch and completing a job.
//
// # A change
//
// A [Change] gathers states and events; [Store.Commit] publishes all of it at once or nothing:
//
//	c := jobs.NewChange(now)
//	c.Batch(&batch, events.BatchIsSubmitted)   // expected: the revision it was read at
//	c.Job(&job)                                // no event
//	err := store.Commit(ctx, c)                // ErrConflict: somebody else changed one of them; read again and decide again
//
// A state is always changed from what was read, never blindly, so whoever loses a race re-reads. There is no lease and no owner: records
// are truth, messages are hints.
//
// # Settling
//
//	submitter (refused, cancelled) ─┐
//	                                ├─► [Store.Settle]: batch, cursor, job (its batch count grows), follow-ups, events: one publish
//	collector (finished) ───────────┘          │
//	                                           └─► [Store.Complete]: job planned and every batch ended → totals, job.completed
package jobs
