package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/refused"
)

type deadlettersPurgeCommand struct {
	manyJobs
	refusedFlags
	All bool `help:"Those of all queues and jobs."`
	Yes bool `help:"Do it. Without it the dead letters are only counted."`

	busFlags
}

// run deletes dead letters. Rejected results stay: they are final.
func (p *deadlettersPurgeCommand) run(ctx context.Context, env app.Env) (int, error) {
	filter, err := p.narrow(&p.refusedFlags)
	if p.Kind == string(refused.Rejected) {
		err = errors.Join(err, refused.ErrFinal)
	}
	if p.Queue == "" && len(p.Job) == 0 && !p.All {
		err = errors.Join(err, errors.New("name a --job or a --queue, or give --all"))
	}
	if err != nil {
		return app.ExitFault, err
	}
	filter.Kind = refused.DeadLetter
	return p.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		if !p.Yes {
			counts, err := reading(bus).Count(ctx, filter)
			if err == nil && len(counts) > 0 {
				err = fmt.Errorf("%d dead letters would be deleted for good, and were not: --yes does it", tellCounts(env, counts, "has"))
			}
			return app.ExitOK, err
		}
		counts, err := reading(bus).Purge(ctx, bus.Store, filter)
		if n := tellCounts(env, counts, "had"); n > 0 {
			say(env, "deleted %d dead letters; rejected results are final and stay", n)
			say(env, "from now on audit names those of them that came second, late or to a full job as missing_dead_letter: it cannot prove these jobs row by row")
		}
		return app.ExitOK, err
	})
}

// tellCounts prints a line a job and returns the sum.
func tellCounts(env app.Env, counts map[string]int, verb string) (sum int) {
	for _, job := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(env.Stdout, "job %s %s %d dead letters that are meant\n", printable(job), verb, counts[job])
		sum += counts[job]
	}
	if sum == 0 {
		say(env, "no dead letter is meant")
	}
	return sum
}
