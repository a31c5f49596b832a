// Package plan is the half of the submitter that decides which row of a job goes into which batch, and answers the rows that go into none.
// One owner decides for each custom_id: the first entry with it in the order of ROWS, and nothing but that order counts.
//
//	wake-up: a block in BATCHBUS_ROWS, job.opened, job.cancelling, the sweeper
//	   │
//	   ▼
//	walk the job's blocks in the order of ROWS, in memory: index of owners, rows gathered per group
//	   ├─ refused owner ──────────────► RESULTS rejected  ─┐
//	   ├─ good owner of a cancelled job► RESULTS cancelled ─┤ expected last subject sequence 0:
//	   ├─ second comer, late, too many ► DEADLETTERS       ─┘ whoever repeats it meets what is there
//	   ├─ same source as the owner ────► nothing, a redelivery
//	   └─ good owner ──────────────────► its group; a full group, and at the seal every group, is cut:
//	        1. all results and dead letters so far are stored
//	        2. the manifests are stored, under fresh names
//	        3. one atomic publish: batches (expected 0), the job (expected revision), batch.planned, at the seal job.planned
//
// # What the job's state says
//
// Walked: up to the end of that block every result and dead letter is stored, and Rows, Rejected and CancelledRows count up to there. Cut, per
// group: the rows up to there are in batches. Both move only in the publish of a cut, or by a change of the job alone at the end of a
// walk. Past the seal block Walked moves in the very publish that cuts what is left, so State planned means fully planned: there is no
// moment at which a row is behind Walked and in no batch.
//
// # Restarts and races
//
// The walk makes the same decisions every time. A planner without the index therefore replays from the first block: rows up to Cut are
// only indexed, nothing is published up to Walked, and the counts come out as they were. Two planners at one job publish the same results
// and dead letters, and of their cuts one wins: the other's expected revision is gone, and it starts over from the state. Changes of the
// job that are not the planner's, such as its count of follow-ups, are no such race: they are read and the same cut is tried again.
//
// Before anything follows from the rows, the block at Walked is compared with its timestamp in the state. A stream that was restored from
// yesterday, or lost its blocks, has another one or none there, and the job is held: rows_older_than_records.
//
// # The end
//
// A fully planned job is completed if it has no batch. Its index is dropped. What comes later is late: a redelivery of a row that has
// its answer is passed over, anything else is a dead letter job_sealed. While the job is planned the index is replayed for that; once it
// is completed each owner has its result, which names its source, and each other entry has its dead letter, so they are asked.
//
// # Memory
//
// 29 to 57 bytes per owner in the index, 56 per row that is gathered and not cut, 48 per entry of the last few blocks that second comers
// were compared with, and one page of blocks. Bodies are never kept.
package plan
