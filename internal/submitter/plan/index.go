package plan

import (
	"fmt"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
)

// indexBits is how many bits of a packed place are the index in the block; the other 44 are the sequence in ROWS. A row takes at least
// 59 bytes of a block, so even the 32 MiB block of a server with the largest max_payload (64 MiB) holds fewer than 2^20 of them.
const indexBits = 20

// index says where the owner of each custom_id lies. Who the owner is, its source and its row, stands in the block there, which is read
// for the rare second comer; so a row costs a key of 16 and a value of 8 bytes and one byte of the map's control word. Go's maps keep
// their tables between 7/16 and 7/8 full and split them one by one, without a second copy of the whole: 25 / (7/16) = 57 bytes a row at
// worst, 29 at best.
type index map[block.Hash]uint64

func (x index) owner(id block.Hash) (place events.RowPlace, taken bool) {
	packed, taken := x[id]
	return events.RowPlace{Sequence: packed >> indexBits, Index: int(packed & (1<<indexBits - 1))}, taken
}

func (x index) put(id block.Hash, place events.RowPlace) {
	x[id] = place.Sequence<<indexBits | uint64(place.Index)
}

// checkPlace tells whether place can stand in an index.
func checkPlace(place events.RowPlace) error {
	if place.Sequence >= 1<<(64-indexBits) || place.Index >= 1<<indexBits {
		return fmt.Errorf("index row at %d.%d: the place is out of range", place.Sequence, place.Index)
	}
	return nil
}
