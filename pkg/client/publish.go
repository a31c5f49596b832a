package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

// MaxLineBytes is the longest line that is published, so that its sender reads on the bus why it was refused: far above any row limit.
const MaxLineBytes = 64 << 20

// Input is rows to publish.
type Input struct {
	Queue, Job string
	// Rows is JSONL. It is read once, as a stream.
	Rows io.Reader
	// Digest tells this input from others of the same job, so that the same rows published again are known for the same: the hex SHA-256
	// of the file, as a rule.
	Digest string
	// Published, when set, is called from Publish's goroutine with the number of rows the bus has acknowledged so far.
	Published func(rows int)
}

// Publish publishes the rows of in and returns how many there were, blank lines not counted, once the bus has acknowledged all of them.
// It blocks while the bus is full or gone, until ctx ends or the full timeout of [Client.WithFullTimeout] is over. It is idempotent for an equal Input: after an error, call it again with the
// same one. [rows.ErrLineTooLong] and [rows.ErrEncoding] end it early; what came before is published.
func (c *Client) Publish(ctx context.Context, in Input) (int, error) {
	if err := errors.Join(events.CheckName(in.Queue), events.CheckName(in.Job)); err != nil {
		return 0, fmt.Errorf("publish rows: %w", err)
	}
	ctx, stop := c.giveUp(ctx)
	defer stop()
	window := c.bus.NewWindow(16)
	chunks := chunker{reader: rows.NewReader(in.Rows, MaxLineBytes)}
	acknowledged := 0
	for {
		next, err := chunks.next()
		if err != nil {
			flushed := flush(ctx, window) // before acknowledged is read, which it counts up
			if errors.Is(err, io.EOF) {
				return acknowledged, flushed
			}
			return acknowledged, errors.Join(fmt.Errorf("read rows: %w", err), flushed)
		}
		message, err := c.message(ctx, &in, next)
		if err != nil {
			return acknowledged, err
		}
		err = window.Publish(ctx, message, func(jetstore.Ack) {
			acknowledged += next.rows
			if in.Published != nil {
				in.Published(acknowledged)
			}
		})
		if err != nil {
			return acknowledged, fmt.Errorf("publish rows: %w", reason(ctx, err))
		}
	}
}

func flush(ctx context.Context, window *jetstore.Window) error {
	if err := window.Flush(ctx); err != nil {
		return fmt.Errorf("publish rows: %w", reason(ctx, err))
	}
	return nil
}

// message renders a chunk, by reference when it does not fit the bus.
func (c *Client) message(ctx context.Context, in *Input, chunk *chunk) (*nats.Msg, error) {
	m := nats.NewMsg(events.RequestSubject(in.Queue, in.Job))
	m.Data = chunk.data
	m.Header.Set(jetstream.MsgIDHeader, messageID(in, strconv.Itoa(chunk.first)))
	m.Header.Set(events.HeaderFirstLine, strconv.Itoa(chunk.first))
	m, err := c.bus.Fit(ctx, jetstore.StreamRequests, m, nil)
	if err != nil {
		return nil, fmt.Errorf("store rows from line %d: %w", chunk.first, reason(ctx, err))
	}
	return m, nil
}

// messageID must differ from job to job: the duplicate window is the stream's, not the subject's.
func messageID(in *Input, what string) string {
	return in.Queue + "." + in.Job + "." + in.Digest + "." + what
}

// Seal ends the job: rows that reach the bus behind it are dead letters. expected is how many rows the caller published, of all inputs
// together; batchbus says so when it counts otherwise. Below 0 it is not said. It returns once the bus has the message. It is idempotent.
func (c *Client) Seal(ctx context.Context, queue, job string, expected int) error {
	header := nats.Header{events.HeaderSeal: {"true"}}
	if expected >= 0 {
		header.Set(events.HeaderExpectedRows, strconv.Itoa(expected))
	}
	if err := c.end(ctx, events.RequestSubject(queue, job), queue, job, "seal", header); err != nil {
		return fmt.Errorf("seal job: %w", err)
	}
	return nil
}

// Cancel asks for the job to be cancelled, and ends it as [Client.Seal] does: rows that were not sent to the provider are not, and what the
// provider has answered by then is kept. It returns once the bus has the message. It is idempotent.
func (c *Client) Cancel(ctx context.Context, queue, job string) error {
	header := nats.Header{events.HeaderCancel: {"true"}}
	subject := events.RequestSubject(queue, job)
	if events.IsRolling(job) {
		subject = events.RequestSubject(queue, "")
		header.Set(events.HeaderJob, job)
	}
	if err := c.end(ctx, subject, queue, job, "cancel", header); err != nil {
		return fmt.Errorf("cancel job: %w", err)
	}
	return nil
}

// end publishes the message that ends a job.
func (c *Client) end(ctx context.Context, subject, queue, job, what string, header nats.Header) error {
	if err := errors.Join(events.CheckName(queue), events.CheckName(job)); err != nil {
		return err
	}
	header.Set(jetstream.MsgIDHeader, messageID(&Input{Queue: queue, Job: job}, what))
	ctx, stop := c.giveUp(ctx)
	defer stop()
	_, err := c.bus.Publish(ctx, &nats.Msg{Subject: subject, Header: header})
	return reason(ctx, err)
}
