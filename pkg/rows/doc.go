// Package rows judges request rows one by one, byte for byte. It is pure: no I/O but the io.Reader a caller hands to
// [NewReader], no clock, no logging, no state shared between calls. Ingest, `batchbus validate` and libraries call the
// same functions, so a row that passes on a laptop passes on the bus.
//
// # The way of a row
//
//	file ─── Reader.Next ──┐
//	                       ├─ Line ── Parse ─┬─ Row ── AppendTail ──▶ stored in a block, without its custom_id
//	message ─ Payload ─────┘                 │                              │
//	                                         │         AppendLine(WireID) ◀─┘  when a batch is uploaded
//	                                         └─ Fault: code, message, byte column, hint, custom_id if readable
//
// A row is one JSON object on one physical line: custom_id, method, url, body. An object over several lines is gathered
// to be refused once, under the number of its first line, and never with a good row inside. What is refused is what the provider's
// parser (serde_json) refuses, plus what would silently cost money or answers; the strictness is measured against
// design.md 5.1 and the JSON table of the field reports. The provider rolls a whole upload back for one bad row, so
// everything it would refuse is found here, before a neighbour is harmed.
//
// # Bytes
//
// The body is never decoded and encoded again. [Row.Body] is a subslice of the line, and every function that changes a
// body ([SpliceModel], [Splice]) copies all other bytes as they are. Members of the envelope beyond the four are dropped, and
// for that reason their content is held to the JSON grammar only, not to the limits on depth and numbers.
//
// # One pass for grammar, one for facts
//
// jsontext reads the line once and settles grammar, UTF-8, surrogates and duplicate names. The second walk trusts the
// first: it hops from token to token to find members, depth and numbers, so it needs no error paths. Explaining a
// fault is a third, slow path that only bad rows pay for.
//
// # Whose row was it
//
// A refused row keeps its custom_id when that can be read without guessing (see [Fault]), because it then ends as a
// `rejected` result that its owner can await, and not as an anonymous dead letter. An id that might be another row's
// is never claimed: with two candidates, or one that a broken line leaves in doubt, the row has none.
package rows
