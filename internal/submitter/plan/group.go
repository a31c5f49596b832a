package plan

import (
	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

// group gathers the rows of one (window, url, model) until they make a batch. A row that waits here takes 56 bytes beside the index,
// and at most max_rows_per_batch of them wait.
type group struct {
	key     events.GroupKey
	cut     events.RowPlace // the last row that is in a batch
	entries []manifest.Entry
	digest  *manifest.Digest
	bytes   int64
	met     bool // a row of it has come in this walk
}

// cut is a full group, ready to become a batch.
type cut struct {
	group   events.GroupKey
	entries []manifest.Entry
	bytes   int64
	digest  string
}

// limits are the sizes of a batch's input file. A single row beyond maxBytes makes a batch alone: whether it is too big, the provider says.
type limits struct {
	maxRows  int
	maxBytes int64
	opaque   bool
}

// gather adds e. It returns the batches that became full: before e, because e would exceed it, and with e.
func (g *group) gather(e *block.Entry, at events.RowPlace, l limits) (full []cut) {
	size := manifest.LineSize(len(g.entries), e, l.opaque)
	if len(g.entries) > 0 && g.bytes+size > l.maxBytes {
		full = append(full, g.close())
		size = manifest.LineSize(0, e, l.opaque)
	}
	if g.digest == nil {
		g.digest = manifest.NewDigest(g.key)
	}
	g.entries = append(g.entries, manifest.Entry{Place: at, Attempt: 1, Row: e.Row, Source: e.Source})
	g.digest.Add(e.CustomID, e.Row)
	g.bytes += size
	if len(g.entries) >= l.maxRows || g.bytes >= l.maxBytes {
		full = append(full, g.close())
	}
	return full
}

// close takes what was gathered, which must not be nothing, out of the group.
func (g *group) close() cut {
	taken := cut{group: g.key, entries: g.entries, bytes: g.bytes, digest: g.digest.Sum()}
	g.cut = g.entries[len(g.entries)-1].Place
	g.entries, g.digest, g.bytes = nil, nil, 0
	return taken
}
