// Package submitter is the service between rows and paid batches. It composes two halves that share nothing but the job and batch states:
//
//	BATCHBUS_ROWS ────────────► plan ──► results, dead letters, manifests, batch.planned
//	job.opened, job.cancelling ──┘                                              │
//	                                                                            ▼
//	                                        batch.planned (follow-ups too) ──► submit ──► provider, batch.submitted
//
// Package plan decides which row goes into which batch; package submit carries each batch to the provider and pays for it once. Both have
// a sweeper of their own, so an event here is a hint: one that is lost costs a sweep's interval.
package submitter
