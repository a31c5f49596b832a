package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

type listCommand struct {
	Queue string `help:"Only the jobs of this queue. Default: all."`
	JSON  bool   `name:"json" help:"Print one JSON object a job, one a line."`

	busFlags
}

// run lists the jobs, the oldest first.
func (l *listCommand) run(ctx context.Context, env app.Env) (int, error) {
	return l.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		byName := make(map[jobID]events.JobStatus) // one that changes meanwhile comes twice
		for j, err := range bus.Client.Jobs(ctx, l.Queue) {
			if err != nil {
				return app.ExitFault, explain(err)
			}
			byName[idOf(&j)] = j
		}
		all := make([]events.JobStatus, 0, len(byName))
		for _, j := range byName {
			all = append(all, j)
		}
		slices.SortFunc(all, func(a, b events.JobStatus) int {
			if order := a.OpenedAt.Compare(b.OpenedAt); order != 0 {
				return order
			}
			return strings.Compare(a.Queue+"."+a.Job, b.Queue+"."+b.Job)
		})
		if l.JSON {
			return app.ExitOK, jsonLines(env, all)
		}
		return app.ExitOK, table(env, all)
	})
}

func jsonLines[T any](env app.Env, all []T) error {
	out := json.NewEncoder(env.Stdout)
	out.SetEscapeHTML(false)
	for i := range all {
		if err := out.Encode(&all[i]); err != nil {
			return fmt.Errorf("print lines: %w", err)
		}
	}
	return nil
}

func table(env app.Env, all []events.JobStatus) error {
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OPENED\tQUEUE\tJOB\tSTATE\tROWS\tSUCCEEDED")
	for i := range all {
		j := &all[i]
		state, succeeded := string(j.State), "-"
		if j.Hold != nil {
			state += ", HELD " + j.Hold.Code
		}
		if len(j.QueueHolds) > 0 {
			state += ", QUEUE HELD " + j.QueueHolds[0].Code
		}
		if j.Totals != nil {
			succeeded = strconv.Itoa(j.Totals.Succeeded)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", j.OpenedAt.Local().Format(time.DateTime), printable(j.Queue), printable(j.Job), printable(state), j.Rows, succeeded)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print jobs: %w", err)
	}
	return nil
}
