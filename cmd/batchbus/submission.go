package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// jobFlags are a job to be made of files.
type jobFlags struct {
	Files []string `arg:"" name:"file" help:"JSONL files of rows, one request a line."`

	Job         string `help:"Name of the job. Default: a digest of the files and settings, so that the same command resumes."`
	Queue       string `default:"default" help:"Queue that the job belongs to."`
	Window      string `default:"24h" help:"Completion window: 24h or 1h."`
	Model       string `help:"Model for rows that name none."`
	Description string `help:"Free text kept with the job."`
}

// submission is a job whose settings and inputs have been checked.
type submission struct {
	env         app.Env
	inputs      []input
	rows        int
	id          jobID
	policy      events.Policy
	description string
	startedAt   time.Time
	begun       bool // the job is open: from here on something may be published
}

// stallInterval is after how long without an acknowledgement people are told that the bus takes nothing.
const stallInterval = 10 * time.Second

// submission checks everything that can be checked before anything is published, and reports every fault, the caller's own included, at once.
// A job that is given no name is named after what decides its answers, the provider among them.
func (f *jobFlags) submission(env app.Env, provider string, faults []error) (*submission, error) {
	s := &submission{env: env, policy: events.DefaultPolicy(), description: f.Description, startedAt: time.Now()}
	s.policy.DefaultModel = f.Model
	faults = append(faults, f.check(&s.policy)...)
	s.policy.Window = f.Window
	inputs, err := inspectAll(f.Files, rulesOf(&s.policy))
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, err
	}
	s.inputs = inputs
	for _, in := range inputs {
		s.rows += in.rows
	}
	if s.id = (jobID{f.Queue, f.Job}); f.Job == "" {
		s.id.job = jobName(inputs, f.Queue, &s.policy, provider)
	}
	return s, nil
}

// check looks at the settings one by one.
func (f *jobFlags) check(p *events.Policy) (faults []error) {
	faults = append(faults, flagError("--queue", events.CheckName(f.Queue)))
	if f.Job != "" {
		faults = append(faults, flagError("--job", events.CheckName(f.Job)))
		if events.IsRolling(f.Job) {
			faults = append(faults, fmt.Errorf("--job: names that begin with %q are batchbus's own", events.RollingPrefix))
		}
	}
	if !slices.Contains(p.Windows, f.Window) {
		faults = append(faults, fmt.Errorf("--window: %q is not one of %v", f.Window, p.Windows))
	}
	return faults
}

// announce says what is about to happen.
func (s *submission) announce(where string) {
	say(s.env, "job %s: %d rows from %d file(s), %s", s.id.job, s.rows, len(s.inputs), where)
	for _, in := range s.inputs {
		if in.bom {
			say(s.env, "note: %s begins with a byte order mark, which is left out", in.path)
		}
		for _, f := range in.faults {
			say(s.env, "bad row: %s", describe(in.path, f))
		}
		if more := in.rows - in.valid - len(in.faults); more > 0 {
			say(s.env, "%d more bad rows in %s: batchbus validate shows all", more, in.path)
		}
	}
}

// open opens the job, or finds it as it was left.
func (s *submission) open(ctx context.Context, c *client.Client) (events.JobStatus, error) {
	job, err := c.OpenJob(ctx, events.OpenJob{
		JobRef: events.JobRef{Queue: s.id.queue, Job: s.id.job}, Window: s.policy.Window, DefaultModel: s.policy.DefaultModel,
		Description: s.description, InputSHA256: inputDigest(s.inputs),
	})
	if err != nil {
		return job, explain(err)
	}
	if job.ForgottenAt != nil {
		return job, fmt.Errorf("job %s was forgotten, and with it its results: choose another --job", job.Job)
	}
	s.begun = true
	switch {
	case job.State == events.JobCompleted:
		say(s.env, "the job is complete already: nothing is sent")
	case job.SealedAt != nil || job.Rows > 0 || s.startedAt.Sub(job.OpenedAt) > time.Second:
		say(s.env, "resuming the job opened %s", job.OpenedAt.Local().Format(time.DateTime))
	}
	return job, nil
}

// publish publishes every input and the seal, unless the job is sealed already: its rows are all there then. Publishing what is there is
// harmless, so one that was killed in the middle of it just begins again. published, when set, is told of rows on the bus.
func (s *submission) publish(ctx context.Context, c *client.Client, job *events.JobStatus, published func(rows int)) error {
	if job.SealedAt != nil {
		return nil
	}
	stalled := time.AfterFunc(stallInterval, func() {
		say(s.env, "the bus has taken no rows for %s: it is full (see --max-store) or slow; waiting", stallInterval)
	})
	defer stalled.Stop()
	total := 0
	for i, in := range s.inputs {
		before := total
		n, err := s.publishFile(ctx, c, i, in, func(rows int) {
			stalled.Reset(stallInterval)
			published(before + rows)
		})
		if err != nil {
			return err
		}
		total += n
	}
	if total != s.rows {
		return fmt.Errorf("the files held %d rows when they were checked and %d when they were published: the job is not sealed", s.rows, total)
	}
	return c.Seal(ctx, s.id.queue, s.id.job, total)
}

func (s *submission) publishFile(ctx context.Context, c *client.Client, i int, in input, published func(rows int)) (int, error) {
	file, err := openRows(in.path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return c.Publish(ctx, client.Input{
		// The same file given twice is two inputs, whose rows are then duplicates of each other.
		Queue: s.id.queue, Job: s.id.job, Rows: file, Digest: fmt.Sprintf("%d-%s", i, in.digest), Published: published,
	})
}

// whatNow is what became of a submission that was stopped.
func (s *submission) whatNow() string {
	if s.begun {
		return jobGoesOn
	}
	return nothingBegun
}
