package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// stallInterval is after how long without an acknowledgement people are told that the bus takes nothing.
const stallInterval = 10 * time.Second

// publish publishes every input and the seal, unless the job is sealed already: its rows are all there then. Publishing what is there is
// harmless, so one that was killed in the middle of it just begins again. published, when set, is told of rows on the bus.
func (s *submission) publish(ctx context.Context, c *client.Client, job *events.JobStatus, published func(rows int)) error {
	if job.SealedAt != nil {
		return nil
	}
	stalled := time.AfterFunc(stallInterval, func() {
		say(s.env, "the bus has taken no rows for %s: it is full, slow or away; waiting", stallInterval)
	})
	defer stalled.Stop()
	c = c.WithFullTimeout(s.fullTimeout)
	total := 0
	for i, in := range s.inputs {
		before := total
		n, err := s.publishFile(ctx, c, i, in, func(rows int) {
			stalled.Reset(stallInterval)
			published(before + rows)
		})
		total += n
		if err != nil {
			return s.tellFull(err, total)
		}
	}
	if total != s.rows {
		return fmt.Errorf("the files held %d rows when they were checked and %d when they were published: the job is not sealed", s.rows, total)
	}
	return s.tellFull(c.Seal(ctx, s.id.queue, s.id.job, total), total)
}

func (s *submission) publishFile(ctx context.Context, c *client.Client, i int, in input, published func(rows int)) (int, error) {
	file, err := s.files.open(in.path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return c.Publish(ctx, client.Input{
		// The same file given twice is two inputs, whose rows are then duplicates of each other.
		Queue: s.id.queue, Job: s.id.job, Rows: file, Digest: fmt.Sprintf("%d-%s", i, in.digest), Published: published,
	})
}

// tellFull adds to the error of a full bus what is on it, what to do about it, and that the same command goes on.
func (s *submission) tellFull(err error, published int) error {
	full, ok := errors.AsType[*client.FullError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w. %d of %d rows are on the bus. See that the services run and that BATCHBUS_ROWS is not full, forget completed jobs "+
		"(batchbus forget), or give the bus more room (--max-store); then the same command goes on, and nothing is there twice",
		full, published, s.rows)
}
