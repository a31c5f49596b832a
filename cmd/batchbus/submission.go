package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// jobFlags are a job to be made of files.
type jobFlags struct {
	Files []string `arg:"" name:"file" help:"JSONL files of rows, one request a line; folders of them, patterns, or - for standard input."`

	Job    string `help:"Name of the job. Default: a digest of the files and settings, so that the same command resumes."`
	Queue  string `default:"default" help:"Queue that the job belongs to."`
	Window string `help:"Completion window: 24h or 1h. Default: the queue's, 24h."`
	Model  string `help:"Model for rows that name none. Default: the queue's."`
	optionFlags
	Description string `help:"Free text kept with the job."`

	FullTimeout time.Duration `default:"2m" help:"Give up when the bus has refused everything for so long for want of room; 0: wait for ever. The same command goes on then."`
}

// submission is a job whose settings and inputs have been checked.
type submission struct {
	env         app.Env
	files       *rowFiles
	inputs      []input
	rows        int
	id          jobID
	policy      events.Policy   // what is known of it before the queue is asked
	options     json.RawMessage // fields of the policy that the flags set; nil: none
	doubt       error           // no row is valid unless the queue's policy makes one so
	description string
	startedAt   time.Time
	begun       bool // the job is open: from here on something may be published
	fullTimeout time.Duration
}

// submission checks everything that can be checked before anything is published, and reports every fault, the caller's own included, at once.
// A job that is given no name is named after what decides its answers, the provider among them. The caller closes the submission.
func (f *jobFlags) submission(ctx context.Context, env app.Env, provider string, faults []error) (s *submission, err error) {
	files, err := resolveFiles(ctx, env, f.Files)
	if err == nil {
		err = files.keepStdin(ctx)
	}
	if err == nil {
		s, err = f.checked(env, files, provider, faults)
	} else {
		err = errors.Join(append(faults, err)...)
	}
	if err != nil {
		files.close()
	}
	return s, err
}

// close forgets what was kept of standard input.
func (s *submission) close() { s.files.close() }

// checked is the submission of files.
func (f *jobFlags) checked(env app.Env, files *rowFiles, provider string, faults []error) (*submission, error) {
	s := &submission{
		env: env, files: files, policy: events.DefaultPolicy(), description: f.Description, startedAt: time.Now(), fullTimeout: f.FullTimeout,
	}
	s.policy.DefaultModel = f.Model
	faults = append(faults, f.check(&s.policy)...)
	s.policy.Window = f.Window
	options, err := f.fields()
	s.options, faults = options, append(faults, err)
	inputs, err := inspectAll(files, s.rules(s.policy))
	if none, ok := errors.AsType[*noValidRowError](err); ok && none.open {
		s.doubt, err = none, nil
	}
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, err
	}
	s.inputs = inputs
	for _, in := range inputs {
		s.rows += in.rows
	}
	if s.id = (jobID{f.Queue, f.Job}); f.Job == "" {
		s.id.job = jobName(inputs, f.Queue, &s.policy, s.options, provider)
	}
	return s, nil
}

// rules are those of a policy with the job's own options over it.
func (s *submission) rules(p events.Policy) *rows.Rules {
	if own, err := queues.Overlay(p, s.options); err == nil { // it was checked when the flags were
		p = own
	}
	return rulesOf(&p)
}

// check looks at the settings one by one.
func (f *jobFlags) check(p *events.Policy) (faults []error) {
	if f.FullTimeout < 0 {
		faults = append(faults, fmt.Errorf("--full-timeout: %s is negative", f.FullTimeout))
	}
	faults = append(faults, flagError("--queue", events.CheckName(f.Queue)))
	if f.Job != "" {
		faults = append(faults, flagError("--job", events.CheckName(f.Job)))
		if events.IsRolling(f.Job) {
			faults = append(faults, fmt.Errorf("--job: names that begin with %q are batchbus's own", events.RollingPrefix))
		}
	}
	if f.Window != "" && !slices.Contains(p.Windows, f.Window) {
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
	if err := s.settleDoubt(ctx, c); err != nil {
		return events.JobStatus{}, err
	}
	job, err := c.OpenJob(ctx, events.OpenJob{
		JobRef: events.JobRef{Queue: s.id.queue, Job: s.id.job}, Window: s.policy.Window, DefaultModel: s.policy.DefaultModel,
		Description: s.description, InputSHA256: inputDigest(s.inputs), Policy: s.options,
	})
	if err != nil {
		return job, explain(err)
	}
	if job.ForgottenAt != nil {
		return job, fmt.Errorf("job %s was forgotten, and with it its results: choose another --job", job.Job)
	}
	s.begun = true
	if !reflect.DeepEqual(rulesOf(&job.Policy), s.rules(s.policy)) {
		say(s.env, "note: queue %s has a policy of its own for rows, which decides what is a bad row: batchbus queues get %s", s.id.queue, s.id.queue)
	}
	switch {
	case job.State == events.JobCompleted:
		say(s.env, "the job is complete already: nothing is sent")
	case job.SealedAt != nil || job.Rows > 0 || s.startedAt.Sub(job.OpenedAt) > time.Second:
		say(s.env, "resuming the job opened %s", job.OpenedAt.Local().Format(time.DateTime))
	}
	return job, nil
}

// settleDoubt asks for the queue's policy when it decides whether there is a valid row at all.
func (s *submission) settleDoubt(ctx context.Context, c *client.Client) error {
	if s.doubt == nil {
		return nil
	}
	queue, err := c.Queue(ctx, s.id.queue)
	if err != nil {
		return explain(err)
	}
	queue.Policy.DefaultModel = cmp.Or(s.policy.DefaultModel, queue.Policy.DefaultModel)
	_, err = inspectAll(s.files, s.rules(queue.Policy))
	return err
}

// whatNow is what became of a submission that was stopped.
func (s *submission) whatNow() string {
	if s.begun {
		return jobGoesOn
	}
	return nothingBegun
}
