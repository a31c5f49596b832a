package main

import (
	"context"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

type queuesPauseCommand struct {
	Queue  string `arg:"" help:"Name of the queue."`
	Reason string `placeholder:"TEXT" help:"Why, for those who look."`
	JSON   bool   `name:"json" help:"Print the queue as JSON."`

	busFlags
}

// run pauses a queue: rows are taken and planned, and nothing more is sent.
func (p *queuesPauseCommand) run(ctx context.Context, env app.Env) (int, error) {
	return p.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		q, err := bus.Client.PauseQueue(ctx, events.PauseQueue{Queue: p.Queue, Message: p.Reason})
		if err != nil {
			return app.ExitFault, explain(err)
		}
		say(env, "queue %s is paused: rows are taken, what runs at the provider goes on, nothing more is sent: batchbus queues resume %s", q.Queue, q.Queue)
		if p.JSON {
			return app.ExitOK, printJSON(env, q)
		}
		return app.ExitOK, nil
	})
}

type queuesResumeCommand struct {
	Queue string `arg:"" help:"Name of the queue."`
	JSON  bool   `name:"json" help:"Print the queue as JSON."`

	busFlags
}

// run ends a pause. Other holds of the queue have ends of their own.
func (r *queuesResumeCommand) run(ctx context.Context, env app.Env) (int, error) {
	return r.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		q, err := bus.Client.ResumeQueue(ctx, r.Queue)
		if err != nil {
			return app.ExitFault, explain(err)
		}
		say(env, "queue %s is not paused any more: its batches go on with the submitters' next look", q.Queue)
		for i := range q.Holds {
			say(env, "it is held still, as %s: %s", q.Holds[i].Code, queueCure(q.Queue, q.Holds[i].Code))
		}
		if r.JSON {
			return app.ExitOK, printJSON(env, q)
		}
		return app.ExitOK, nil
	})
}

// queueCure is the command that ends one of a queue's holds.
func queueCure(queue, code string) string {
	if code == events.HoldPaused {
		return "batchbus queues resume " + queue
	}
	return "batchbus resume --queue " + queue
}
