// Package webhook receives the provider's webhooks (doubleword-contract.md, section 8), which mean one thing: poll that batch now.
//
//	POST /webhook ──► body at most 64 KiB ──► signature, time ──► id seen before? ──► hints ──► 204
//	                    413                      401                204, and nothing     │
//	                                                                                     └──► [Poke], one call for all hints that wait
//
// Nothing of a webhook is believed but the id of a batch, and that only as a hint: states change by what a poll then sees. So a webhook that is
// lost, late, doubled or forged with a stolen secret costs at most one poll, a webhook and a poll at once give one set of events, and polling goes
// on without any webhook. An answer other than 2xx would have the provider send again, and after ten of them stop; only what is not signed by it
// gets one.
package webhook
