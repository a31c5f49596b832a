// Package queues keeps the policies of queues in the KV bucket batchbus_queues, one record for each queue that differs from the default.
//
//	batchbus queues put night --set retry.max_attempts=3
//	          │
//	          ▼
//	   record of "night": {"retry":{"max_attempts":3}}      only what differs, so a later default reaches the other fields
//	          │
//	          ▼   laid over the default
//	   policy of "night" ──► snapshot in the state of each job that opens ──► every service reads the snapshot
//
// The record is read, from the bucket's leader, whenever a job opens, and never remembered: a change holds for every job that opens after it was
// acknowledged, in every replica, and for no job that was open before. A queue without a record has the default policy.
//
// [Store.Put] takes no record with a fault and says all of them. Whoever writes the bucket with another tool can store one all the same: then
// no job of the queue opens, its rows wait, and whoever asks is told why. Fields that a reader does not know are left alone by it, so that
// replicas of two versions work side by side.
//
// The length of rolling windows ([events.Policy], LingerSeconds) is not in a record yet: a message that is delivered again must land in
// the window of its first delivery, for which a record has to keep the lengths that held before, with the times (design.md section 2).
package queues
