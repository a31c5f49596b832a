// Package refused reads what batchbus refused: dead letters, and the rows whose result is `rejected`, with the bytes as they were received.
// It changes nothing on the bus.
//
//	BATCHBUS_DEADLETTERS ─ a letter a message ──────────────── payload: in the letter, or in the object that it names
//	BATCHBUS_RESULTS ───── results with outcome rejected ───── payload: in the job's block in BATCHBUS_ROWS, while rows are kept
//
// A refused row with a usable custom_id stands in a block as it was received. A good one that was refused later (by the provider, or as the
// first of a 65th group) stands there as what goes to the provider: custom_id, method, url and body, the body byte for byte; its line is made
// of these. Both are found by the source that the result names.
//
// Everything streams. In memory are one page of a stream, and 32 bytes for each rejected row whose payload is looked for.
package refused
