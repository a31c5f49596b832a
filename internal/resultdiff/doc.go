// Package resultdiff compares two sets of results, as `batchbus run`, `submit --wait` and `results` write them, by custom_id.
//
//	lines of A ── id, file, offset ──► package distinct ─┐
//	                                                     ├─ merged by id ── both lines are read ── the same, or a Change
//	lines of B ── id, file, offset ──► package distinct ─┘
//
// Each line is read twice: once for its id, and once when its like in the other set is known. So two lines are held at a time, and 28 bytes a row on
// disk beyond a million rows. The three shapes of lines (event, openai, flat) are told apart by their members and can be compared with one another.
//
// Answers are compared as bytes. On request, two answers with the same text count as the same: ids, times and usage in the body are then of no matter.
package resultdiff
