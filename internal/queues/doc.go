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
// # Lengths of rolling windows
//
// A message that is delivered again must land in the window of its first delivery, whoever handles it. So a record keeps the lengths that held
// before ([events.Policy], LingerSeconds) with the times from which they did, and a message is judged by its own timestamp:
//
//	{"linger_seconds":10,"window":"1h","lingers":[{"seconds":60,"from":"…T02:00:30Z"}]}     stored at …T03:00:00Z
//	                 │                             held from 02:00:30 …
//	                 └── … until 03:00:30: the length that the record itself names holds [LingerLead] after it was stored
//
// A new length's time is not in the record, since no writer knows when its record will be stored. It follows from the bus' timestamp of the
// record; whoever changes the record next writes it down. A reader has asked the leader after it received a message: of whatever changes later the time
// lies a lead after the message's, if the clocks of the bus' servers are as near as that. So what it read is good for all messages older than that,
// and no clock but the bus' is in it: half of the lead is given to remembering, half to the clocks.
//
// A length is kept for a month after it held. A record that another tool puts in the place of one with lengths has lost them.
package queues
