//go:build unix

package rig

import (
	"context"
	"fmt"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Ending is a result or dead letter as it stands in its stream.
type Ending struct {
	Subject  string
	Job      string // of the subject
	CustomID string
	Word     string // a result's outcome, a dead letter's code
}

// Left is all that a deployment has left behind: what invariants are judged by.
type Left struct {
	Results     []Ending
	DeadLetters []Ending
	Jobs        []events.Job
	Batches     []events.Batch
	Events      []events.Event
	Ledger      simulator.Ledger
	// Waiting counts what nobody has taken or acknowledged, by what: requests, and the consumers' pending and unacknowledged messages.
	Waiting map[string]uint64
}

// Look reads everything. It fails the test when something cannot be read.
func (d *Deployment) Look() *Left {
	d.t.Helper()
	l := &Left{Ledger: d.Ledger(), Waiting: d.Waiting()}
	ctx := Patiently(d.t)
	err := d.each(ctx, jetstore.StreamResults, "batchbus.results.>", func(m jetstore.Message, job string) error {
		r, err := events.ParseResult(m.Data)
		l.Results = append(l.Results, Ending{m.Subject, job, r.CustomID, string(r.Outcome)})
		return err
	})
	d.must(err)
	err = d.each(ctx, jetstore.StreamDeadletters, "batchbus.deadletters.>", func(m jetstore.Message, job string) error {
		r, err := events.ParseDeadLetter(m.Data)
		l.DeadLetters = append(l.DeadLetters, Ending{m.Subject, job, r.CustomID, r.Code})
		return err
	})
	d.must(err)
	err = d.each(ctx, jetstore.StreamEvents, "batchbus.events.>", func(m jetstore.Message, _ string) error {
		e, err := events.ParseEvent(m.Data)
		l.Events = append(l.Events, e)
		return err
	})
	d.must(err)
	d.must(d.states(ctx, l))
	return l
}

func (d *Deployment) states(ctx context.Context, l *Left) error {
	for e, err := range d.Store.Entries(ctx, "job.") {
		if err != nil {
			return err
		}
		j, err := events.ParseJob(e.Value)
		if err != nil {
			return err
		}
		l.Jobs = append(l.Jobs, j)
	}
	for e, err := range d.Store.Entries(ctx, "batch.") {
		if err != nil {
			return err
		}
		b, err := events.ParseBatch(e.Value)
		if err != nil {
			return err
		}
		l.Batches = append(l.Batches, b)
	}
	return nil
}

func (d *Deployment) each(ctx context.Context, stream, filter string, take func(m jetstore.Message, job string) error) error {
	for m, err := range d.Store.Read(ctx, stream, filter, 0) {
		if err != nil {
			return err
		}
		if err := take(m, token(m.Subject, 3)); err != nil {
			return fmt.Errorf("read %s: %w", m.Subject, err)
		}
	}
	return nil
}

// Waiting is what of [Left] can still be on its way. A consumer that cannot be asked counts as 1.
func (d *Deployment) Waiting() map[string]uint64 {
	waiting := map[string]uint64{}
	ctx, cancel := context.WithTimeout(d.t.Context(), lookTimeout)
	defer cancel()
	note := func(what string, n uint64) {
		if n > 0 {
			waiting[what] = n
		}
	}
	note("requests", d.Count(jetstore.StreamRequests))
	for _, c := range [][2]string{
		{jetstore.StreamRequests, jetstore.ConsumerIngest},
		{jetstore.StreamRows, jetstore.ConsumerPlanner},
		{jetstore.StreamEvents, jetstore.ConsumerSubmitter},
		{jetstore.StreamEvents, jetstore.ConsumerCollector},
	} {
		consumer, err := d.JS.Consumer(ctx, c[0], c[1])
		if err != nil {
			waiting[c[1]] = 1
			continue
		}
		info := consumer.CachedInfo()
		note(c[1]+" pending", info.NumPending)
		note(c[1]+" unacknowledged", uint64(info.NumAckPending))
	}
	return waiting
}

func (d *Deployment) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}
