package manifest

import (
	"context"
	"fmt"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Original is the row of a block's entry as its publisher sent it: a refused row is there as it was received. Of a good one the block holds what
// goes to the provider: its custom_id, method, url and body, the body byte for byte; that is given back, as one line. message is the block's;
// its object is read when the payload lies there, and then errors are those of [Payload], or wrap [block.ErrCorrupt].
func Original(ctx context.Context, bus Bus, message *jetstore.Message, e *block.Entry) ([]byte, error) {
	if e.Absent {
		whole, err := wholeEntry(ctx, bus, message, e)
		if err != nil {
			return nil, err
		}
		e = whole
	}
	if e.Fault != nil {
		return e.Fault.Payload, nil
	}
	line := make([]byte, 0, len(`{"custom_id":""`)+len(e.CustomID)+len(e.Tail))
	line = events.AppendString(append(line, `{"custom_id":`...), e.CustomID)
	return append(line, e.Tail...), nil
}

// wholeEntry returns e with its payload, from the object that holds the block.
func wholeEntry(ctx context.Context, bus Bus, message *jetstore.Message, e *block.Entry) (*block.Entry, error) {
	data, err := Payload(ctx, bus, message)
	if err != nil {
		return nil, err
	}
	for candidate, err := range block.Read(data) {
		if err != nil {
			return nil, fmt.Errorf("read object of block %d: %w", message.Sequence, err)
		}
		if candidate.Source == e.Source && candidate.Row == e.Row {
			found := *candidate
			return &found, nil
		}
	}
	return nil, fmt.Errorf("find row in object of block %d: %w", message.Sequence, block.ErrCorrupt)
}
