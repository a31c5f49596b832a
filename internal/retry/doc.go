// Package retry sends rows of a completed job once more, in a job of their own that names it. The results of the first job are final: they stay,
// and the new job answers the rows anew. It is not the retry policy, by which a row gets another try before it has a result (see
// collector), and has nothing to do with the provider's own retries.
//
//	RESULTS of the job ──► which rows are meant: source and hash of the custom_id, at most MaxRows at once
//	                          │  without those that other jobs hold which retry this one
//	                          ▼
//	ROWS of the job ─────► each row's bytes as they were ──► one message a row, its Nats-Msg-Id made of the row's source
//	                                                             │
//	                                            the next part, or the seal
//
// The results of a completed job do not change, and the messages are the same each time: doing it twice, or again after a crash in the middle,
// publishes and pays nothing twice. The new job is found again by a digest of what was asked for, its input_sha256.
//
// In memory are about 80 bytes for each row of a part.
package retry
