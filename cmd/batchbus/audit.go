package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/audit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// shownProblems is how many problems are printed for people.
const shownProblems = 20

type auditCommand struct {
	Job         string `arg:"" optional:"" help:"Name of the job, or the provider's id of one of its batches."`
	Queue       string `default:"default" help:"Queue that the job belongs to."`
	All         bool   `help:"Audit every job of every queue."`
	Provider    bool   `help:"Compare with the provider's own list of batches too. Needs the API key."`
	ProviderURL string `placeholder:"URL" default:"https://api.doubleword.ai/v1" help:"Base URL of the provider."`
	JSON        bool   `name:"json" help:"Print the report as JSON, with up to 1000 problems; with --all one line a job."`

	busFlags
}

// run audits one job or all of them. The exit code is 1 when something does not add up.
func (a *auditCommand) run(ctx context.Context, env app.Env) (int, error) {
	if (a.Job == "") != a.All {
		return app.ExitFault, errors.New("name one job, or give --all")
	}
	provider, err := a.provider(env)
	if err != nil {
		return app.ExitFault, err
	}
	return a.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		config := audit.Config{Bus: bus.Store, Jobs: bus.Jobs, Provider: provider}
		if a.All {
			return a.every(ctx, env, config)
		}
		report, err := a.one(ctx, bus, config)
		if err != nil {
			return app.ExitFault, err
		}
		if a.JSON {
			return auditCode(report), printJSON(env, report)
		}
		return auditCode(report), describeAudit(env.Stdout, report)
	})
}

// provider is whom to ask, by every key that is configured; nil when nobody is to be asked.
func (a *auditCommand) provider(env app.Env) (audit.Provider, error) {
	if !a.Provider {
		return nil, nil //nolint:nilnil // the nil one is not asked
	}
	keys, err := app.LoadKeys(env)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("--provider: no API key: set %s or %s", app.EnvKey, app.EnvKeyFile)
	}
	var asked accounts
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		client, err := doubleword.New(doubleword.Config{BaseURL: strings.TrimRight(a.ProviderURL, "/"), Key: keys[name]})
		if err != nil {
			return nil, flagError("--provider-url", err)
		}
		asked = append(asked, client)
	}
	return asked, nil
}

// accounts are the provider by several API keys, each of which may see other batches.
type accounts []*doubleword.Client

// AllBatches yields what any of the keys shows, each batch once.
func (a accounts) AllBatches(ctx context.Context, q doubleword.BatchQuery) iter.Seq2[doubleword.Batch, error] {
	return func(yield func(doubleword.Batch, error) bool) {
		seen := make(map[string]bool)
		for _, client := range a {
			for b, err := range client.AllBatches(ctx, q) {
				if err == nil && seen[b.ID] {
					continue
				}
				seen[b.ID] = true
				if !yield(b, err) {
					return
				}
			}
		}
	}
}

// one audits the job; a name that no job has may be a batch's id at the provider, which the control API knows.
func (a *auditCommand) one(ctx context.Context, bus *app.Bus, config audit.Config) (*audit.Report, error) {
	report, err := audit.Job(ctx, config, a.Queue, a.Job)
	if !errors.Is(err, jetstore.ErrNotFound) {
		return report, err
	}
	named := jobArg{Job: a.Job, Queue: a.Queue}
	status, err := named.find(ctx, bus)
	if err != nil {
		return nil, err
	}
	return audit.Job(ctx, config, status.Queue, status.Job)
}

func (a *auditCommand) every(ctx context.Context, env app.Env, config audit.Config) (int, error) {
	code := app.ExitOK
	for report, err := range audit.All(ctx, config) {
		if err != nil {
			return app.ExitFault, err
		}
		code = max(code, auditCode(report))
		if a.JSON {
			err = jsonLine(env.Stdout, report)
		} else {
			err = describeAudit(env.Stdout, report)
		}
		if err != nil {
			return app.ExitFault, err
		}
	}
	return code, nil
}

func jsonLine(w io.Writer, report *audit.Report) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	if err := out.Encode(report); err != nil {
		return fmt.Errorf("print audit: %w", err)
	}
	return nil
}

func auditCode(r *audit.Report) int {
	if r.Verdict == audit.Contradicted {
		return app.ExitRows
	}
	return app.ExitOK
}

// describeAudit prints a report for people.
func describeAudit(w io.Writer, r *audit.Report) error {
	var text strings.Builder
	add := func(format string, args ...any) { fmt.Fprintln(&text, printable(fmt.Sprintf(format, args...))) }
	add("job %s, queue %s, %s: %s by %s", r.Job, r.Queue, r.State, r.Verdict, r.Basis)
	if r.Why != "" {
		add("not row by row: %s", r.Why)
	}
	t := r.Results
	add("rows in %d: %d get a result, %d of them refused; %d batches", r.RowsIn, r.Owners, r.Refused, r.Batches)
	add("results %d: succeeded %d, failed %d, expired %d, cancelled %d, rejected %d; tokens %d in, %d out",
		t.Rows, t.Succeeded, t.Failed, t.Expired, t.Cancelled, t.Rejected, t.Usage.PromptTokens, t.Usage.CompletionTokens)
	for _, code := range slices.Sorted(maps.Keys(r.DeadLetters)) {
		add("dead letters %s: %d", code, r.DeadLetters[code])
	}
	if remote := r.Remote; remote != nil {
		add("provider: %d batches, %d live, %d with rows that ran, %d given up by a person; rows %d completed, %d failed",
			remote.Batches, remote.Live, remote.Ran, remote.Abandoned, remote.Counts.Completed, remote.Counts.Failed)
	}
	for _, open := range r.Open {
		add("open: %s", open)
	}
	for i := range r.Problems[:min(len(r.Problems), shownProblems)] {
		add("WRONG %s", problemWords(&r.Problems[i]))
	}
	if more := r.ProblemCount - shownProblems; more > 0 {
		add("and %d more (--json shows up to %d)", more, audit.MaxProblems)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("print audit: %w", err)
	}
	return nil
}

func problemWords(p *audit.Problem) string {
	words := p.Code
	if p.CustomID != "" {
		words += fmt.Sprintf(" row %q", p.CustomID)
	}
	if p.Place != nil {
		words += fmt.Sprintf(" at %d.%d", p.Place.Sequence, p.Place.Index)
	}
	if p.Batch != "" {
		words += " batch " + p.Batch
	}
	return words + ": " + p.Message
}
