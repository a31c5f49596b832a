package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/app"
)

const (
	// lookInterval is how often a command that follows a job reads what is new.
	lookInterval = 250 * time.Millisecond
	// holdPatience is how long it stays when something waits for a person, who is most likely the one in front of it.
	holdPatience = 5 * time.Second
)

// follower watches a job to its end.
type follower struct {
	bus *app.Bus
	id  jobID
	view
	// saw is called after each look at the job's state, and tells whether that was the end. What it reads was written before that state,
	// or later.
	saw func(ctx context.Context, v *view) (done bool, err error)

	heldSince time.Time
}

// follow returns nil once saw has told that it is done. It gives up when the job is held and nothing of it goes on by itself.
func (f *follower) follow(ctx context.Context) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		if err := f.read(ctx, f.bus, f.id); err != nil {
			return err
		}
		if done, err := f.saw(ctx, &f.view); err != nil || done {
			return err
		}
		if err := f.held(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// held ends the following when all that is left has been waiting for a person for a while.
func (f *follower) held() error {
	holds := f.holds()
	switch {
	case len(holds) == 0, f.moves():
		f.heldSince = time.Time{}
	case f.heldSince.IsZero():
		f.heldSince = time.Now()
	case time.Since(f.heldSince) > holdPatience:
		return fmt.Errorf("the job is held: %s. Nothing is lost; the same command goes on", strings.Join(holds, "; "))
	}
	return nil
}
