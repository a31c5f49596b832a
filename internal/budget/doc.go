// Package budget decides what may be spent. It is pure: what it decides on is in the states of a queue, a job and a batch, which are changed
// together, in one publish, or not at all.
//
//	planned ── Check ──▶ held budget_reached ◀─────────── another batch was faster ──┐
//	              │ it fits                                                            │
//	              ▼                                                                    │
//	           upload ──▶ Check, Reserve ──▶ one publish: batch creating, ledger, job ─┘
//	                                                  │ POST, run, collect
//	                                                  ▼
//	                            Settle ──▶ one publish: batch settled, ledger, job
//
// The ledger of a queue is in the state budget.<queue>, whose revision every reservation replaces: of two that want the last of it one finds the
// other's. The reservation itself stands in the batch, so whoever finds a batch creating, or posts it again after a fence, finds it reserved, and
// the one settlement that a batch has takes it out. Thus the ledger's reserved amount is the sum of the reservations of the batches that have not
// ended; [Reserved] adds that up, and the submitter's sweep holds the two against each other.
package budget
