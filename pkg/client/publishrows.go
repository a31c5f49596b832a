package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// rowsInFlight is how many messages of one row each are under way at once: enough to be fast, and not more than bigger rows can fill memory with.
const rowsInFlight = 64

// Row is one row to publish as a message of its own.
type Row struct {
	Line []byte // Line is the row, published as it is. It is copied.
	// ID tells the row from every other input of its job, and is the same whenever the row is published again. Two rows with different bytes
	// must not share one: the second would be dropped.
	ID string
	// Number is the line that faults name, from 1; 0 or less: 1. Above 1 the row is taken for a line of a file, as [rows.Part] has them.
	Number int
	Window string // Window is the row's own completion window; empty: the job's.
}

// PublishRows publishes rows one message each and returns how many there were, once the bus has acknowledged all of them; published, when not
// nil, is told how many were so far. It ends after the first error of all. It blocks as [Client.Publish] does, and is idempotent for equal rows.
// [Client.Publish] is several times as fast for the rows of a file.
func (c *Client) PublishRows(ctx context.Context, queue, job string, all iter.Seq2[Row, error], published func(rows int)) (int, error) {
	if err := errors.Join(events.CheckName(queue), events.CheckName(job)); err != nil {
		return 0, fmt.Errorf("publish rows: %w", err)
	}
	ctx, stop := c.giveUp(ctx)
	defer stop()
	window := c.bus.NewWindow(rowsInFlight)
	acknowledged := 0
	for row, err := range all {
		if err != nil {
			flushed := flush(ctx, window) // before acknowledged is read, which it counts up
			return acknowledged, errors.Join(fmt.Errorf("read rows: %w", err), flushed)
		}
		message, err := c.rowMessage(ctx, queue, job, &row)
		if err != nil {
			return acknowledged, err
		}
		err = window.Publish(ctx, message, func(jetstore.Ack) {
			acknowledged++
			if published != nil {
				published(acknowledged)
			}
		})
		if err != nil {
			return acknowledged, fmt.Errorf("publish rows: %w", reason(ctx, err))
		}
	}
	err := flush(ctx, window) // before acknowledged is read
	return acknowledged, err
}

// rowMessage renders a row, by reference when it does not fit the bus.
func (c *Client) rowMessage(ctx context.Context, queue, job string, row *Row) (*nats.Msg, error) {
	m := nats.NewMsg(events.RequestSubject(queue, job))
	m.Data = slices.Clone(row.Line)
	m.Header.Set(jetstream.MsgIDHeader, queue+"."+job+".row."+row.ID) // it must differ from job to job, as a chunk's
	if row.Number > 1 {
		m.Header.Set(events.HeaderFirstLine, strconv.Itoa(row.Number))
	}
	if row.Window != "" {
		m.Header.Set(events.HeaderWindow, row.Window)
	}
	m, err := c.bus.Fit(ctx, jetstore.StreamRequests, m, nil)
	if err != nil {
		return nil, fmt.Errorf("store row of line %d: %w", row.Number, reason(ctx, err))
	}
	return m, nil
}
