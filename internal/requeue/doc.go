// Package requeue puts refused rows, corrected or as they were, into a new job that names the one which refused them. A final result stays
// final: the old job keeps its rejected results and dead letters, and the new one answers the rows anew.
//
//	rows ──► first pass: judged by the rules of ingest; any fault, and nothing is published
//	          │           a digest of all of them, which is the new job's input_sha256
//	          ▼
//	linked jobs: those that name the old one. One with this digest is this very requeue: it is taken up again.
//	             Rows that one of them holds are left out: they have, or get, an answer there.
//	          │
//	          ▼
//	second pass: one message a row, its Nats-Msg-Id made of the refused row's source and the row's bytes ──► seal
//
// So the same requeue given twice, or after a crash in the middle, publishes and pays nothing twice. What was refused between the passes is
// left for the next time.
//
// What a job names another one by is a [Link]: package retry uses the same for rows that failed.
//
// In memory are 48 bytes and a map's share for each row, and 17 for each row of the linked jobs.
package requeue
