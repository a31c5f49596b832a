package main

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/batchbus/batchbus/internal/app"
)

// outFlags say where results go, and in what shape.
type outFlags struct {
	Out    string `placeholder:"DIR" help:"Folder for output.jsonl and errors.jsonl. Default: ./batchbus-out/JOB."`
	Format string `default:"event" help:"Shape of the result lines: event, openai or flat."`
	JSON   bool   `name:"json" help:"Print the summary as JSON on stdout."`
}

// folder is where the job's results go.
func (f *outFlags) folder(job string) string {
	return cmp.Or(f.Out, filepath.Join("batchbus-out", job))
}

// deliver publishes a submission and follows its job to its end, with the answers in files.
func (s *submission) deliver(ctx context.Context, bus *app.Bus, out outFlags, simulated *bool) (int, error) {
	shape, err := formatOf(out.Format)
	if err != nil {
		return app.ExitFault, err
	}
	job, err := s.open(ctx, bus.Client)
	if err != nil {
		return app.ExitFault, err
	}
	to, err := openFiles(out.folder(s.id.job), shape)
	if err != nil {
		return app.ExitFault, err
	}
	bar := newProgress(s.env, s.rows)
	defer bar.stop()
	read := &answers{bus: bus, id: s.id, to: to}
	f := &follower{bus: bus, id: s.id, saw: func(ctx context.Context, v *view) (bool, error) {
		done, err := read.saw(ctx, v)
		bar.show(v, read.totals.Rows+read.deadLetters, read.totals.Rows-read.totals.Rejected)
		return done, err
	}}
	err = s.publish(ctx, bus.Client, &job, bar.published)
	if err == nil {
		err = f.follow(ctx)
	}
	bar.stop()
	if err != nil {
		return app.ExitFault, errors.Join(err, to.keep())
	}
	if err := to.finish(); err != nil {
		return app.ExitFault, err
	}
	sum := summaryOf(&f.view, read.totals, read.deadLetters, s.startedAt)
	sum.Simulated, sum.OutputFile, sum.ErrorsFile = cmp.Or(simulated, sum.Simulated), to.output.path, to.failures.path
	if err := keepSummary(out.folder(s.id.job), &sum); err != nil {
		return app.ExitFault, err
	}
	if sum.Rows.Total != s.rows {
		say(s.env, "warning: the files hold %d rows and %d were answered", s.rows, sum.Rows.Total)
	}
	if err := sum.report(s.env, out.JSON); err != nil {
		return app.ExitFault, err
	}
	return max(sum.exitCode(), differing(sum.Rows.Total, s.rows)), nil
}

// differing is the exit code for rows that came to another end than one's own.
func differing(answered, sent int) int {
	if answered != sent {
		return app.ExitRows
	}
	return app.ExitOK
}
