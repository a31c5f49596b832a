package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
)

// queuesCommand gathers what is about the policies of queues.
type queuesCommand struct {
	List queuesListCommand `cmd:"" help:"List the queues that have a policy of their own. Every other one has the default policy."`
	Get  queuesGetCommand  `cmd:"" help:"Show the policy of a queue, and what in it is not the default."`
	Put  queuesPutCommand  `cmd:"" help:"Change the policy of a queue. It holds for jobs that open from then on."`

	Pause  queuesPauseCommand  `cmd:"" help:"Send nothing more of a queue to the provider. Rows are taken, and what runs goes on."`
	Resume queuesResumeCommand `cmd:"" help:"End the pause of a queue."`
}

type queuesListCommand struct {
	JSON bool `name:"json" help:"Print one JSON object a queue, one a line."`

	busFlags
}

func (l *queuesListCommand) run(ctx context.Context, env app.Env) (int, error) {
	return l.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		byName := make(map[string]events.QueueStatus) // one that changes meanwhile comes twice
		for q, err := range bus.Client.Queues(ctx) {
			if err != nil {
				return app.ExitFault, explain(err)
			}
			byName[q.Queue] = q
		}
		all := make([]events.QueueStatus, 0, len(byName))
		for _, q := range byName {
			all = append(all, q)
		}
		slices.SortFunc(all, func(a, b events.QueueStatus) int { return strings.Compare(a.Queue, b.Queue) })
		if l.JSON {
			return app.ExitOK, jsonLines(env, all)
		}
		return app.ExitOK, queueTable(env, all)
	})
}

func queueTable(env app.Env, all []events.QueueStatus) error {
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "QUEUE\tCHANGED\tPOLICY")
	for i := range all {
		q := &all[i]
		record := string(q.Record)
		if q.Fault != "" {
			record = "BAD, no job opens: " + q.Fault
		}
		for j := range q.Holds {
			record = "HELD " + q.Holds[j].Code + " " + record
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", printable(q.Queue), changed(q), printable(record))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print queues: %w", err)
	}
	return nil
}

func changed(q *events.QueueStatus) string {
	if q.ChangedAt == nil {
		return "-"
	}
	return q.ChangedAt.Local().Format(time.DateTime)
}

type queuesGetCommand struct {
	Queue string `arg:"" help:"Name of the queue. It need not have a policy of its own."`
	JSON  bool   `name:"json" help:"Print the queue as JSON."`

	busFlags
}

func (g *queuesGetCommand) run(ctx context.Context, env app.Env) (int, error) {
	return g.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		q, err := bus.Client.Queue(ctx, g.Queue)
		if err != nil {
			return app.ExitFault, explain(err)
		}
		if g.JSON {
			return app.ExitOK, printJSON(env, q)
		}
		return app.ExitOK, describeQueue(env, &q)
	})
}

// describeQueue prints each field of the policy, those of the queue's own marked.
func describeQueue(env app.Env, q *events.QueueStatus) error {
	own, err := queues.Values(q.Record)
	if err != nil {
		own = nil // a record that is no policy: the fault says so
	}
	text, err := json.Marshal(q.Policy)
	if err != nil {
		return fmt.Errorf("encode policy: %w", err)
	}
	values, err := queues.Values(text)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, name := range queues.Fields() {
		mark := ""
		if _, set := own[name]; set {
			mark = "own"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", name, printable(values[name]), mark)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print queue: %w", err)
	}
	for i := range q.Holds {
		say(env, "HELD since %s: %s: %s", q.Holds[i].At.Local().Format(time.DateTime), q.Holds[i].Code, q.Holds[i].Message)
	}
	switch {
	case q.Fault != "":
		say(env, "BAD: no job of it opens: %s", q.Fault)
	case q.Record == nil:
		say(env, "queue %s has the default policy", q.Queue)
	}
	return nil
}

type queuesPutCommand struct {
	Queue string   `arg:"" help:"Name of the queue."`
	Set   []string `sep:"none" placeholder:"FIELD=VALUE" help:"Set a field, such as retry.max_attempts=3 or key=night; lists are comma separated. May be repeated."`
	Unset []string `sep:"none" placeholder:"FIELD" help:"Give a field its default back. May be repeated."`
	File  string   `placeholder:"FILE" help:"Put the fields of this JSON object in the place of all that the queue has of its own; {} is the default policy."`
	JSON  bool     `name:"json" help:"Print the queue as JSON."`

	busFlags
}

// run changes what is there by what is asked for. Somebody else's change in between is not lost: then nothing is put.
func (p *queuesPutCommand) run(ctx context.Context, env app.Env) (int, error) {
	if len(p.Set)+len(p.Unset) == 0 && p.File == "" {
		return app.ExitFault, errors.New("say by --set, --unset or --file what to change")
	}
	fields, err := p.fromFile()
	if err := errors.Join(flagError("QUEUE", events.CheckName(p.Queue)), err, p.change(make(map[string]any))); err != nil {
		return app.ExitFault, err
	}
	return p.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		put, err := p.wanted(ctx, bus, fields)
		if err != nil {
			return app.ExitFault, err
		}
		q, err := bus.Client.PutQueue(ctx, put)
		if err != nil {
			return app.ExitFault, lined(explain(err))
		}
		say(env, "queue %s: the policy holds for jobs that open from now on", q.Queue)
		if n := len(q.Lingers); n > 0 && q.Lingers[n-1].From.After(time.Now()) {
			say(env, "the length of its rolling windows changes at %s", q.Lingers[n-1].From.Local().Format(time.DateTime))
		}
		if p.JSON {
			return app.ExitOK, printJSON(env, q)
		}
		return app.ExitOK, describeQueue(env, &q)
	})
}

// wanted is what is to be put: the fields of the file, or those that the queue has and as it has them now, with the changes in them.
func (p *queuesPutCommand) wanted(ctx context.Context, bus *app.Bus, fields map[string]any) (events.PutQueue, error) {
	put := events.PutQueue{Queue: p.Queue}
	if fields == nil {
		have, err := bus.Client.Queue(ctx, p.Queue)
		if err != nil {
			return put, explain(err)
		}
		put.Revision = &have.Revision
		if fields, err = recordOf(&have); err != nil {
			return put, err
		}
	}
	if err := p.change(fields); err != nil {
		return put, err
	}
	var err error
	if put.Policy, err = json.Marshal(fields); err != nil {
		return put, fmt.Errorf("encode policy: %w", err)
	}
	return put, nil
}

// lined puts each fault of a policy on a line of its own.
func lined(err error) error {
	var faults []error
	for fault := range strings.SplitSeq(err.Error(), "; ") {
		faults = append(faults, errors.New(fault))
	}
	return errors.Join(faults...)
}

// fromFile are the fields of the file; nil when there is none.
func (p *queuesPutCommand) fromFile() (fields map[string]any, err error) {
	if p.File == "" {
		return nil, nil
	}
	text, err := os.ReadFile(p.File)
	if err != nil {
		return nil, flagError("--file", err)
	}
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return nil, fmt.Errorf("--file: %s is no JSON object: %w", p.File, err)
	}
	return fields, nil
}

// recordOf are the fields that a queue has of its own.
func recordOf(q *events.QueueStatus) (map[string]any, error) {
	fields := make(map[string]any)
	if q.Record == nil && q.Fault == "" {
		return fields, nil
	}
	if err := json.Unmarshal(q.Record, &fields); err != nil {
		return nil, fmt.Errorf("the record of queue %s is no JSON object: put it right by --file", q.Queue)
	}
	return fields, nil
}

// change does to the fields what the flags say.
func (p *queuesPutCommand) change(fields map[string]any) error {
	var faults []error
	for _, set := range p.Set {
		name, value, ok := strings.Cut(set, "=")
		if !ok {
			faults = append(faults, fmt.Errorf("--set: %.80q is not FIELD=VALUE", set))
			continue
		}
		faults = append(faults, flagError("--set", queues.Set(fields, name, value)))
	}
	for _, name := range p.Unset {
		faults = append(faults, flagError("--unset", queues.Unset(fields, name)))
	}
	return errors.Join(faults...)
}
