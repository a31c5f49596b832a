package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// head is an entry without its payload: what a second comer is compared with.
type head struct {
	source, row block.Hash
	origin      events.Origin
}

// keptBlocks is how many blocks' heads are kept: a file that repeats itself does so in order, so the next owner is mostly in the block
// of the last one. A head takes 48 bytes, a block of 4 MiB of 1 KiB rows has 4096 of them.
const keptBlocks = 4

// origins reads the heads of owners. It is not safe for concurrent use.
type origins struct {
	blocks Blocks
	kept   [keptBlocks]struct {
		sequence uint64
		heads    []head
	}
	next int
}

// at returns the head of the row at place. current is the block that is being walked, which needs no reading.
func (o *origins) at(ctx context.Context, place events.RowPlace, current *jetstore.Message) (*head, error) {
	heads, err := o.block(ctx, place.Sequence, current)
	if err != nil {
		return nil, err
	}
	if place.Index >= len(heads) {
		return nil, fmt.Errorf("find owner at %d.%d: %w", place.Sequence, place.Index, manifest.ErrRowsGone)
	}
	return &heads[place.Index], nil
}

func (o *origins) block(ctx context.Context, sequence uint64, current *jetstore.Message) ([]head, error) {
	for i := range o.kept {
		if o.kept[i].sequence == sequence {
			return o.kept[i].heads, nil
		}
	}
	data := current.Data
	if current.Sequence != sequence {
		m, err := o.blocks.At(ctx, jetstore.StreamRows, sequence)
		if errors.Is(err, jetstore.ErrNotFound) {
			return nil, fmt.Errorf("find owner in block %d: %w", sequence, manifest.ErrRowsGone)
		}
		if err != nil {
			return nil, fmt.Errorf("read owner's block: %w", err)
		}
		data = m.Data
	}
	var heads []head
	for e, err := range block.Read(data) {
		if err != nil {
			return nil, fmt.Errorf("read owner's block %d: %w", sequence, err)
		}
		heads = append(heads, head{source: e.Source, row: e.Row, origin: events.Origin{Sequence: e.Sequence, Line: e.Line}})
	}
	kept := &o.kept[o.next%keptBlocks]
	kept.sequence, kept.heads = sequence, heads
	o.next++
	return heads, nil
}
