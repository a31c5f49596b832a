package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/refused"
	"github.com/batchbus/batchbus/internal/requeue"
	"github.com/batchbus/batchbus/internal/rowfile"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

type deadlettersRequeueCommand struct {
	From  string `arg:"" name:"refused-job" help:"The job that refused the rows."`
	Queue string `default:"default" help:"Queue that it belongs to."`

	refusedFlags
	Job          string   `placeholder:"NEW" help:"Name of the new job. Default: the old one's with -fix1, or the first number that is free."`
	Edit         string   `placeholder:"FILE" help:"Publish the corrected rows of this JSONL file and nothing else. list --payload writes what there is to correct."`
	Set          []string `sep:"none" placeholder:"PATH=VALUE" help:"Set a member in each row: body.temperature=0, custom_id=case-7, body.messages.0.role=user. VALUE is JSON, or else text. All other bytes stay. May be repeated."`
	Model        string   `help:"Model for rows that name none. Default: the old job's."`
	ReplaceModel string   `placeholder:"MODEL" help:"Model in place of each row's own."`
	Window       string   `help:"Completion window of the new job: 24h or 1h. Default: the old job's."`
	Description  string   `help:"Free text kept with the new job."`
	NoSeal       bool     `help:"Leave the new job open: more may follow, by the same command with --job or from elsewhere."`
	Again        bool     `help:"Publish rows that another linked job holds already, too: they are paid again. Needs --job."`
	DryRun       bool     `help:"Say what would be published, and publish nothing."`
	JSON         bool     `name:"json" help:"Print what was published as JSON."`

	busFlags
}

// run takes up refused rows in a new job. The exit code is 2 when a row still cannot be published; then none was.
func (r *deadlettersRequeueCommand) run(ctx context.Context, env app.Env) (int, error) {
	filter, err := r.filter()
	faults := []error{err, flagError("--queue", events.CheckName(r.Queue)), flagError("JOB", events.CheckName(r.From))}
	if r.Job != "" {
		faults = append(faults, flagError("--job", events.CheckName(r.Job)))
		if events.IsRolling(r.Job) {
			faults = append(faults, fmt.Errorf("--job: names that begin with %q are batchbus's own", events.RollingPrefix))
		}
	}
	if r.Again && r.Job == "" {
		faults = append(faults, errors.New("--again publishes and pays rows a second time: name the new --job"))
	}
	if r.Edit != "" {
		file, err := rowfile.Open(r.Edit) // it is read twice
		if err == nil {
			_ = file.Close()
		}
		faults = append(faults, flagError("--edit", err))
	}
	edits, err := r.edits()
	if err := errors.Join(append(faults, err)...); err != nil {
		return app.ExitFault, err
	}
	return r.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		q := requeueing{deadlettersRequeueCommand: r, env: env, bus: bus, filter: filter, edits: edits}
		return q.run(ctx)
	})
}

// edits are what is set in each row.
func (r *deadlettersRequeueCommand) edits() (edits []requeue.Edit, err error) {
	for _, text := range r.Set {
		edit, fault := requeue.ParseEdit(text)
		edits, err = append(edits, edit), errors.Join(err, flagError("--set", fault))
	}
	return edits, err
}

// filter is what of the job is meant. A duplicate's row has its answer already: it is left out unless it is named.
func (r *deadlettersRequeueCommand) filter() (refused.Filter, error) {
	filter, err := r.refusedFlags.filter()
	filter.Queue, filter.Jobs = r.Queue, []string{r.From}
	if !slices.Contains(filter.Codes, events.DLDuplicate) && len(filter.Sources) == 0 {
		filter.NotCodes = []string{events.DLDuplicate}
	}
	return filter, err
}

// requeueing is one requeue on its way.
type requeueing struct {
	*deadlettersRequeueCommand
	env    app.Env
	bus    *app.Bus
	filter refused.Filter
	edits  []requeue.Edit

	old    jobs.Job // with the default policy when it is not known
	linked *requeue.Linked
	rows   requeue.Rows
	plan   *requeue.Plan
	target requeue.Target
}

func (q *requeueing) run(ctx context.Context) (int, error) {
	for _, step := range []func(context.Context) error{q.lookAtOld, q.lookAtLinked, q.gather, q.check, q.choose} {
		if err := step(ctx); err != nil {
			return app.ExitFault, err
		}
	}
	if q.plan.Faults > 0 {
		return app.ExitFault, q.tellFaults()
	}
	q.announce()
	if q.DryRun {
		say(q.env, "dry run: nothing was published")
		return app.ExitOK, q.report(false)
	}
	sealed, err := q.publish(ctx)
	if err != nil {
		return app.ExitFault, err
	}
	return app.ExitOK, q.report(sealed)
}

func (q *requeueing) lookAtOld(ctx context.Context) error {
	old, err := q.bus.Jobs.Job(ctx, q.Queue, q.From)
	switch {
	case errors.Is(err, jetstore.ErrNotFound): // a message that was refused as a whole need not have opened it
		old.Policy = events.DefaultPolicy()
	case err != nil:
		return err
	}
	old.Policy.DefaultModel = cmp.Or(q.Model, old.Policy.DefaultModel)
	old.Policy.Window = cmp.Or(q.Window, old.Policy.Window)
	if len(old.Policy.Windows) > 0 && !slices.Contains(old.Policy.Windows, old.Policy.Window) {
		return fmt.Errorf("--window: %q is not one of %v", old.Policy.Window, old.Policy.Windows)
	}
	q.old = old
	return nil
}

func (q *requeueing) lookAtLinked(ctx context.Context) (err error) {
	if q.linked, err = requeue.FindLinked(ctx, q.bus.Jobs, requeue.Fixes(), q.Queue, q.From); err != nil || q.Again {
		return err
	}
	return q.linked.Read(ctx, q.bus.Store, nil)
}

// gather says where the rows come from: the refused ones themselves, or a file that corrects them.
func (q *requeueing) gather(ctx context.Context) error {
	if q.Edit == "" {
		q.rows = requeue.Edited(requeue.Refused(reading(q.bus), q.filter), q.edits)
		return nil
	}
	if _, err := os.Stat(q.Edit); err != nil {
		return flagError("--edit", err)
	}
	sources, err := requeue.Sources(ctx, reading(q.bus), q.filter)
	q.rows = requeue.Edited(requeue.File(q.Edit, sources), q.edits)
	return err
}

func (q *requeueing) check(ctx context.Context) (err error) {
	rules := rulesOf(&q.old.Policy)
	rules.Model = cmp.Or(q.ReplaceModel, rules.Model)
	q.plan, err = requeue.Check(ctx, q.rows, requeue.Config{Rules: rules, Rebuild: q.ReplaceModel != "", Linked: q.linked.Held})
	if err == nil && q.plan.Seen == 0 {
		err = fmt.Errorf("nothing that job %s refused is meant: batchbus deadletters list --job %s shows what there is", q.From, q.From)
		if q.Edit != "" {
			err = fmt.Errorf("%s: no rows: the input is empty", q.Edit)
		}
	}
	return err
}

func (q *requeueing) choose(ctx context.Context) (err error) {
	base := requeue.Fixes().Base(q.From, q.old.Fixes != nil)
	q.target, err = q.linked.Choose(ctx, q.bus.Jobs, requeue.Queue(q.Queue), base, q.Job, q.plan.Digest)
	return flagError("--job", err)
}

// tellFaults says what is wrong with each row.
func (q *requeueing) tellFaults() error {
	report := newReporter(q.env, q.JSON)
	for _, f := range q.plan.Findings {
		report.finding(finding{File: f.From, Line: f.Line, Column: f.Column, Code: f.Code, Message: f.Message, Hint: f.Hint})
	}
	return fmt.Errorf("%d of %d rows cannot be published as they are, and nothing was: correct them (--set, or list --payload and then --edit), or choose others by --code or --custom-id",
		q.plan.Faults, q.plan.Seen)
}
