package submit

import (
	"context"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

// maxParts bounds the follow-ups of one settle publish, which takes two messages for each. What is left over is in the last one, and split
// in its turn.
const maxParts = 64

// cutter cuts rows, in order, into files that keep to a limit.
type cutter struct {
	limit  limit
	opaque bool
	starts []int // the places at which files begin
	rows   int   // of the last file
	bytes  int64
}

// add takes the next row. One that is too large by itself makes a file alone: the provider judges it.
func (c *cutter) add(place int, e *block.Entry) {
	size := manifest.LineSize(c.rows, e, c.opaque)
	full := c.limit.refuses(c.rows+1, c.bytes+size) && len(c.starts) < maxParts
	if place == 0 || full {
		c.starts, c.rows, c.bytes = append(c.starts, place), 0, 0
		size = manifest.LineSize(0, e, c.opaque)
	}
	c.rows++
	c.bytes += size
}

// parts are the cut rows. Where the limit is unknown, or leaves them as they were, they are halved.
func (c *cutter) parts(entries []manifest.Entry) (parts [][]manifest.Entry) {
	starts := c.starts
	if len(starts) < 2 {
		starts = []int{0, len(entries) / 2}
	}
	for i, from := range starts {
		to := len(entries)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		parts = append(parts, entries[from:to])
	}
	return parts
}

// split ends a batch of several rows whose file the provider does not take as a whole: its rows go to follow-ups that keep to l.
func (d *drive) split(ctx context.Context, l limit) (step, error) {
	entries, err := manifest.Load(ctx, d.config.Bus, d.batch.Manifest)
	if err != nil {
		return d.unreadable(ctx, err)
	}
	cut := &cutter{limit: l, opaque: d.batch.OpaqueIDs}
	if l != (limit{}) {
		for row, err := range manifest.Rows(ctx, d.config.Bus, d.batch.Queue, d.batch.Job, entries) {
			if err != nil {
				return d.unreadable(ctx, err)
			}
			cut.add(row.Place, row.Entry)
		}
	}
	e := ending{state: events.BatchRefused, why: "too_large", entries: entries}
	for _, part := range cut.parts(entries) {
		e.followUps = append(e.followUps, jobs.FollowUp{Rows: part, LineRefusals: d.batch.LineRefusals})
	}
	return d.end(ctx, e)
}
