package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/batchbus/batchbus/examples/workflow/flow"
	"github.com/batchbus/batchbus/pkg/events"
)

// holdInterval is how often the jobs are looked at for what waits for a person.
const holdInterval = 5 * time.Second

// jobs looks jobs up; a client is one.
type jobs interface {
	Job(ctx context.Context, q events.JobRef) (events.JobStatus, error)
}

// watch says, once each, why jobs of the workflow wait for a person, until stop is called.
func watch(ctx context.Context, c jobs, w flow.Config) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		said := map[string]bool{}
		for tick := time.NewTicker(holdInterval); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			for _, hold := range holds(ctx, c, w) {
				if !said[hold] {
					said[hold] = true
					w.Say(hold)
				}
			}
		}
	})
	return func() { cancel(); ended.Wait() }
}

// holds are those of all stages that there are.
func holds(ctx context.Context, c jobs, w flow.Config) (all []string) {
	for stage := 1; stage <= w.Caps.Stages; stage++ {
		job, err := c.Job(ctx, events.JobRef{Queue: w.Queue, Job: flow.JobName(w.Job, stage)})
		if err != nil {
			return all // there is no such stage yet, or nobody answers: the next look tells
		}
		add := func(code, message string) {
			all = append(all, fmt.Sprintf("job %s is held: %s: %q. `batchbus status %s` says more", job.Job, code, message, job.Job))
		}
		if job.Hold != nil {
			add(job.Hold.Code, job.Hold.Message)
		}
		for _, hold := range job.QueueHolds {
			add(hold.Code, hold.Message)
		}
		for i := range job.Batches {
			if hold := job.Batches[i].Hold; hold != nil {
				add(hold.Code, hold.Message)
			}
		}
	}
	return all
}
