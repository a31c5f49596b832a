// Package audit proves conservation for a job: every row that came in ended as exactly one result or dead letter, and every planned batch was
// paid once. It judges what the streams and the manifests hold, and compares the job's own totals with that, never the other way round.
//
//	states ──► ROWS ──► manifests ──► RESULTS, DEADLETTERS ──► verdict
//	(claims)   (owners) (who carries)  (how each row ended)
//
// The order makes it sound beside running services: what is claimed is read before the evidence, so evidence can only be ahead of a claim.
// A row that nothing claims to be over is open, not wrong.
//
// Memory: an owner takes about 100 bytes of the ledger, and so does an input that came second; one manifest is held at a time, and of what is
// wrong at most [MaxProblems] are kept. Bodies and answers pass through and are never kept.
//
// When the rows were purged after their keep time, what is left is judged by totals; when results are gone too (forgotten, or past their
// thirty days), by the states alone. The report's [Basis] says so.
package audit
