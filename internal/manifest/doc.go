// Package manifest says which rows a batch holds: a list of fixed-size entries, one a row, whose position is the row's place.
//
//	"bbm1" then per row, 48 bytes, little endian:
//	    u64 ROWS sequence, u32 index in the block, u16 attempt, u16 zero, row hash[16], source[16]
//
// A manifest is an object with a fresh random name that the batch's state names with its digest, so a manifest is never changed: it is
// there or it is not. Its rows stand in the order of ROWS, which lets [Rows] read them back in one walk over the job's blocks.
//
// The batch's own digest ([Digest]) is over what was planned and not over where it lies: the ordered (custom_id, row hash) and the group.
// It stands in the provider's metadata, so that a batch there can be told from one that another, restored bus planned.
package manifest
