package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/keep"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

// maxDescriptionBytes keeps a job's record well below half of the smallest max_payload.
const maxDescriptionBytes = 4 << 10

// open opens the job, or returns it as it is.
func (s *Service) open(ctx context.Context, q events.OpenJob) (none events.JobStatus, err error) {
	q.Queue = cmp.Or(q.Queue, events.DefaultQueue)
	if err := checkNames(q.JobRef); err != nil {
		return none, err
	}
	if err := checkLink(q.Fixes); err != nil {
		return none, err
	}
	if err := checkOptions(&q); err != nil {
		return none, err
	}
	j, err := s.Jobs.Job(ctx, q.Queue, q.Job)
	if errors.Is(err, jetstore.ErrNotFound) {
		j, err = s.openNew(ctx, &q)
	}
	if err != nil {
		return none, err
	}
	if err := differs(&q, &j.Job); err != nil {
		return none, err
	}
	return statusOf(&j.Job), nil
}

func (s *Service) openNew(ctx context.Context, q *events.OpenJob) (none jobs.Job, err error) {
	policy, err := s.policyOf(ctx, q)
	if err != nil {
		return none, err
	}
	if err := s.roomFor(ctx); err != nil {
		return none, err
	}
	return s.Jobs.Open(ctx, q.Queue, q.Job, jobs.Options{
		Policy: policy, Description: q.Description, InputSHA256: q.InputSHA256, Fixes: q.Fixes,
	})
}

// roomFor tells whether a new job may be opened.
func (s *Service) roomFor(ctx context.Context) error {
	if s.room.Full(ctx) {
		return refusal(events.APIBusFull, "the rows stream is above 80 %%: no new jobs are opened; forget completed jobs (batchbus forget) or raise its limit (batchbus setup --grow --max-store BYTES)")
	}
	return nil
}

// checkNames checks the names of a job that need not exist.
func checkNames(ref events.JobRef) error {
	if err := errors.Join(events.CheckName(ref.Queue), events.CheckName(ref.Job)); err != nil {
		return refusal(events.APIBadRequest, "%v", err)
	}
	return checkExplicit(ref.Job)
}

// checkExplicit refuses rolling jobs, which batchbus opens and seals itself.
func checkExplicit(job string) error {
	if events.IsRolling(job) {
		return refusal(events.APIBadRequest, "%s: jobs whose names begin with %q are opened and sealed by batchbus", job, events.RollingPrefix)
	}
	return nil
}

// checkLink checks the name of a job that need not be there any more, and may be a rolling one. An empty queue is the default one.
func checkLink(fixes *events.JobRef) error {
	if fixes == nil {
		return nil
	}
	fixes.Queue = cmp.Or(fixes.Queue, events.DefaultQueue)
	if err := errors.Join(events.CheckName(fixes.Queue), events.CheckName(fixes.Job)); err != nil {
		return refusal(events.APIBadRequest, "fixes: %v", err)
	}
	return nil
}

// checkOptions looks at what is no field of a policy, and at the shape of the others.
func checkOptions(q *events.OpenJob) error {
	switch _, err := hex.DecodeString(q.InputSHA256); {
	case len(q.DefaultModel) > rows.DefaultMaxModelBytes:
		return refusal(events.APIBadRequest, "default_model has more than %d bytes", rows.DefaultMaxModelBytes)
	case len(q.Description) > maxDescriptionBytes:
		return refusal(events.APIBadRequest, "description has more than %d bytes", maxDescriptionBytes)
	case q.InputSHA256 != "" && (err != nil || len(q.InputSHA256) != 64):
		return refusal(events.APIBadRequest, "input_sha256 is not 64 hexadecimal digits")
	}
	return nil
}

// differs tells in what an open job is another one than was asked for.
func differs(q *events.OpenJob, j *events.Job) error {
	for _, option := range []struct{ name, wanted, has string }{
		{"window", q.Window, j.Policy.Window},
		{"default_model", q.DefaultModel, j.Policy.DefaultModel},
		{"input_sha256", q.InputSHA256, j.InputSHA256},
		{"fixes", linkName(q.Fixes), linkName(j.Fixes)},
	} {
		if option.wanted != "" && option.wanted != option.has {
			return refusal(events.APIConflict, "job %s is there already, with %s %q and not %q: choose another name",
				j.Job, option.name, option.has, option.wanted)
		}
	}
	wanted, err := queues.Overlay(j.Policy, q.Policy)
	switch {
	case err != nil:
		return refusal(events.APIBadRequest, "policy: %v", err)
	case !bytes.Equal(events.EncodeAPI(events.JobStatus{Policy: wanted}), events.EncodeAPI(events.JobStatus{Policy: j.Policy})):
		return refusal(events.APIConflict, "job %s is there already, with another policy than %.500s: choose another name", j.Job, q.Policy)
	}
	return nil
}

func linkName(fixes *events.JobRef) string {
	if fixes == nil {
		return ""
	}
	return fixes.Queue + "/" + fixes.Job
}

// seal asks for the seal by the message that anybody could publish, so that it comes behind the rows.
func (s *Service) seal(ctx context.Context, q events.SealJob) (none events.JobStatus, err error) {
	j, err := s.find(ctx, q.JobRef)
	if err == nil {
		err = checkExplicit(j.Name())
	}
	if err != nil {
		return none, err
	}
	expected := -1
	if q.ExpectedRows != nil {
		if expected = *q.ExpectedRows; expected < 0 {
			return none, refusal(events.APIBadRequest, "expected_rows is negative")
		}
	}
	if j.SealedAt == nil {
		err = s.client.Seal(ctx, j.Queue, j.Name(), expected)
	}
	return statusOf(&j.Job), err
}

// cancel asks in the same way. A completed job is left as it is.
func (s *Service) cancel(ctx context.Context, q events.JobRef) (events.JobStatus, error) {
	j, err := s.find(ctx, q)
	if err != nil {
		return events.JobStatus{}, err
	}
	if j.State != events.JobCompleted && (j.CancelWanted == nil || j.SealedAt == nil) {
		err = s.client.Cancel(ctx, j.Queue, j.Name())
	}
	return statusOf(&j.Job), err
}

func (s *Service) forget(ctx context.Context, q events.JobRef) (events.Forgotten, error) {
	j, err := s.find(ctx, q)
	if err != nil {
		return events.Forgotten{}, err
	}
	forgotten, err := keep.Forget(ctx, s.Bus, s.Jobs, j.Queue, j.Name())
	if errors.Is(err, keep.ErrNotSettled) {
		return forgotten, refusal(events.APINotSettled, "job %s is %s: it must be completed first", j.Name(), j.State)
	}
	return forgotten, err
}
