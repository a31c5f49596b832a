// Package client is for programs at both ends of batchbus: it publishes rows and seals jobs, and reads results and dead letters.
// Everything it does is plain NATS (see package events); it adds what is easy to get wrong by hand.
//
//	file ──lines──► chunks of about 256 KiB, cut at line ends ──► batchbus.requests.<queue>.<job>
//	                each with a Nats-Msg-Id made of job, input digest and line
//
// The chunks of a file and their ids are a function of its bytes, the job and the digest. So publishing a file again, after a crash or
// by mistake, is harmless: within the stream's duplicate window the bus drops the copy, and after it the rows still have the same
// source, which batchbus recognises as a redelivery. A message too big for the bus travels as an object.
//
// A row that is published to its queue alone belongs to a rolling job, whose name its publisher need not know: [Client.AwaitRow] waits for
// its result by the custom_id.
package client
