// Package distinct finds the rows of files that share a custom_id, of any number of rows in the same memory, and exactly.
//
//	Add ── 128 bits of the id's SHA-256, file, line ──► a buffer of a million ── sorted when it is full ──► a run in a temporary file
//	                                                                                                            │
//	Doubled ◄── neighbours with the same hash ◄── all runs and the buffer, merged ◄─────────────────────────────┘
//
// The hash is the one by which a job's planner tells ids apart, so what is found is what a job would find. The buffer takes 28 MiB, each run 64 KiB more
// while they are merged, and the file 28 bytes a row. It lies in the system's folder for temporary files (TMPDIR) and has no name while it is open,
// where the system allows that. Fewer than a million rows never reach a disk.
package distinct
