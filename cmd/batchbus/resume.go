package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

type resumeCommand struct {
	Job    string `arg:"" optional:"" help:"Name of the job, or the provider's id of one of its batches. Without one: --queue itself, and whatever of it is out of credit."`
	Queue  string `placeholder:"QUEUE" help:"Queue that the job belongs to. Default: default."`
	Batch  string `placeholder:"N" help:"Only this batch of the job."`
	Code   string `placeholder:"CODE" help:"Only holds of this code. Default: all of a job, or of a queue itself; out_of_credit of a queue's jobs and batches."`
	Budget string `placeholder:"MONEY|N-tokens" help:"What the job may use in all, whatever the limits of it, its queue and its day say: 12.50, in the currency of the price table, or 5000000-tokens. 0 takes that back."`
	JSON   bool   `name:"json" help:"Print what became of each hold as JSON, one a line; of one batch, the batch."`

	busFlags
}

// run ends holds whose cause is gone.
func (r *resumeCommand) run(ctx context.Context, env app.Env) (int, error) {
	switch {
	case r.Job == "" && r.Queue == "":
		return app.ExitFault, errors.New("name the job, or the --queue that is to be resumed")
	case r.Job == "" && r.Batch != "":
		return app.ExitFault, errors.New("--batch: name its job too")
	case r.Batch != "" && r.Code != "":
		return app.ExitFault, errors.New("--batch and --code exclude each other")
	case r.Budget != "" && (r.Job == "" || r.Batch != "" || r.Code != ""):
		return app.ExitFault, errors.New("--budget is a whole job's: name it, without --batch and --code")
	}
	allow, err := allowance(r.Budget)
	if err != nil {
		return app.ExitFault, flagError("--budget", err)
	}
	code := r.Code
	if allow != nil {
		code = events.HoldBudget
	}
	ref := events.JobRef{Queue: cmp.Or(r.Queue, events.DefaultQueue), Job: r.Job}
	return r.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		if r.Batch != "" {
			b, err := bus.Client.ResumeBatch(ctx, events.EndHold{JobRef: ref, N: r.Batch})
			return wished(env, &b, err, "it goes on", r.JSON)
		}
		holds, err := bus.Client.ResumeJobs(ctx, events.ResumeJobs{JobRef: ref, Code: code, Allow: allow})
		if err != nil {
			return app.ExitFault, explain(err)
		}
		return r.tell(env, holds)
	})
}

// allowance reads what a job may use in all: money, or a number of tokens. nil of an empty text.
func allowance(text string) (*events.Allowance, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nothing is said
	}
	number, isTokens := strings.CutSuffix(text, "-tokens")
	if isTokens {
		tokens, err := strconv.ParseInt(number, 10, 64)
		if err != nil || tokens < 0 {
			return nil, fmt.Errorf("%.40q is no number of tokens", number)
		}
		return &events.Allowance{Tokens: tokens}, nil
	}
	money, err := events.ParseMoney(text)
	if err != nil || money < 0 {
		return nil, fmt.Errorf("%.40q is neither money, such as 12.50, nor tokens, such as 5000000-tokens", text)
	}
	return &events.Allowance{Money: money}, nil
}

// tell says what became of each hold. One that did not end is a fault: whoever asked has to do something else.
func (r *resumeCommand) tell(env app.Env, holds []events.ResumedHold) (int, error) {
	code := app.ExitOK
	for i := range holds {
		h := &holds[i]
		what := "job " + h.Job
		switch {
		case h.Job == "":
			what = "queue " + h.Queue
		case h.Batch != "":
			what = "batch " + h.Batch + " of job " + h.Job
		}
		if h.Ended {
			say(env, "%s: %s: it goes on", what, h.Code)
			continue
		}
		say(env, "%s: %s: %s", what, h.Code, h.Why)
		code = app.ExitFault
	}
	switch {
	case r.Budget != "":
		say(env, "job %s may use %s in all; the submitter looks again at what its limits hold", r.Job, r.Budget)
	case len(holds) > 0:
	case r.Code != "":
		say(env, "nothing is held there as %s", r.Code)
	default:
		say(env, "nothing is held there")
	}
	if r.JSON {
		return code, jsonLines(env, holds)
	}
	return code, nil
}
