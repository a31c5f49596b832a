// Package api answers the control API: a micro service of NATS called "batchbus", for programs and people that have nothing but a NATS
// client.
//
//	anybody ── {"job":"nightly"} ──► batchbus.api.jobs.get ──► one replica of ingest or submitter (queue group)
//	        ◄── {"job":"nightly","state":…,"batches":[…]} ───────────┘
//
// Any replica answers, since none remembers anything: what it says is read from the bus, and what it does is what anybody else could do by a
// message. Sealing and cancelling are such messages on the job's request subject, behind the rows that were published before (design.md
// 5.2); only opening a job with options, forgetting one and ending holds are done here. A hold that ends by calls of the provider becomes a wish
// in the batch's state, which the submitter sees to. Everything may be asked again: after an answer that was lost, ask
// again.
//
// An error is an [events.APIError] with a code that does not change, also in the headers of the micro protocol.
package api
