package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// setupCommand makes the topology of a bus that is not ours.
type setupCommand struct {
	app.ConnectionFlags

	Replicas int           `default:"1" enum:"1,3" help:"Replicas of each stream: 1 or 3."`
	MaxStore int64         `placeholder:"BYTES" help:"Most bytes that all streams together may hold. Default: the server's own limit."`
	Grow     bool          `help:"Raise the size limits of streams that are there to what --max-store gives them; none is lowered."`
	AckWait  time.Duration `placeholder:"DURATION" help:"After how long what a replica died over is given to another one; as the services have it. Default 30s."`
}

// run creates what is missing. What is there and differs is reported, one line a difference, and left as it is, but
// for sizes that are to grow.
func (s *setupCommand) run(ctx context.Context, env app.Env) (int, error) {
	log := zerolog.New(zerolog.ConsoleWriter{Out: env.Stderr, NoColor: true}).With().Timestamp().Logger()
	if s.Grow && s.MaxStore <= 0 {
		return app.ExitFault, errors.New("--grow: say by --max-store to what")
	}
	if s.MaxStore != 0 && s.MaxStore < app.MinStore {
		return app.ExitFault, fmt.Errorf("--max-store: %d bytes is too little: at least %d", s.MaxStore, app.MinStore)
	}
	err := app.Setup(ctx, &s.ConnectionFlags, jetstore.Settings{
		Replicas: s.Replicas, MaxStore: s.MaxStore, KeepSizes: s.MaxStore == 0, GrowSizes: s.Grow, AckWait: s.AckWait,
	}, &log)
	if err != nil {
		return app.ExitCode(ctx, err), err
	}
	if _, err := fmt.Fprintln(env.Stdout, "the bus has all streams, buckets and consumers of batchbus"); err != nil {
		return app.ExitFault, fmt.Errorf("say that it is done: %w", err)
	}
	return app.ExitOK, nil
}
