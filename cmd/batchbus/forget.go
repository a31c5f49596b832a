package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/internal/app"
)

type forgetCommand struct {
	jobArg
	JSON bool `name:"json" help:"Print what remains at the provider as JSON."`

	busFlags
}

// run removes a completed job's contents from the bus, and says what it did not remove.
func (f *forgetCommand) run(ctx context.Context, env app.Env) (int, error) {
	return f.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		forgotten, err := bus.Client.ForgetJob(ctx, f.ref())
		if err != nil {
			return app.ExitFault, explain(err)
		}
		if f.JSON {
			return app.ExitOK, printJSON(env, forgotten)
		}
		lines := []string{fmt.Sprintf("job %s is forgotten: its rows, results, dead letters and %d objects are gone from the bus", forgotten.Job, forgotten.Objects)}
		for _, b := range forgotten.Remains {
			lines = append(lines, fmt.Sprintf("the provider may still have batch %s: %s, input file %s, output file %s, error file %s",
				b.N, or(b.ProviderBatchID), or(b.InputFileID), or(b.OutputFileID), or(b.ErrorFileID)))
		}
		if _, err := fmt.Fprintln(env.Stdout, strings.Join(lines, "\n")); err != nil {
			return app.ExitFault, fmt.Errorf("print what remains: %w", err)
		}
		return app.ExitOK, nil
	})
}

func or(id string) string {
	if id == "" {
		return "none"
	}
	return printable(id)
}
