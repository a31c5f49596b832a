package ingest

import (
	"strconv"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/rows"
)

// wholeMessage is the line in the source of a dead letter that is about a message and not about one of its rows, which count from 1.
const wholeMessage = 0

// originOf tells where a message came from, the same at every delivery of it, and at every publish of it by a publisher that sets a
// Nats-Msg-Id. Without one the timestamp stands beside the sequence, since sequences can come again after a restore.
func originOf(msgID string, at time.Time, sequence uint64) []string {
	if msgID != "" {
		return []string{msgID}
	}
	return []string{strconv.FormatInt(at.UnixNano(), 10), strconv.FormatUint(sequence, 10)}
}

// sourceOf is the source of one line of a message, and the hash of that line.
func sourceOf(origin []string, line int, data []byte) (source, row block.Hash) {
	row = rows.HashRow(data)
	return messages.Source(row, line, origin...), row
}
