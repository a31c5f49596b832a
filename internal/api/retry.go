package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/requeue"
	"github.com/batchbus/batchbus/internal/retry"
	"github.com/batchbus/batchbus/pkg/events"
)

// maxCodes and maxCodeBytes bound what a request to retry names.
const (
	maxCodes     = 64
	maxCodeBytes = 256
)

// retry sends rows of a completed job once more.
func (s *Service) retry(ctx context.Context, q events.RetryJob) (events.Retried, error) {
	if err := checkRetry(&q); err != nil {
		return events.Retried{}, err
	}
	old, err := s.find(ctx, q.JobRef)
	if err != nil {
		return events.Retried{}, err
	}
	r := retrying{
		Service: s, q: &q, old: &old, ref: events.JobRef{Queue: old.Queue, Job: old.Name()},
		selection: retry.Selection{Only: q.Only, All: q.All, Wished: old.CancelWanted != nil},
	}
	r.digest = r.selection.Digest(old.Queue, old.Name(), q.Policy)
	return r.run(ctx)
}

func checkRetry(q *events.RetryJob) error {
	if q.To != "" {
		if err := checkNames(events.JobRef{Queue: events.DefaultQueue, Job: q.To}); err != nil {
			return err
		}
	}
	switch {
	case q.All && len(q.Only) > 0:
		return refusal(events.APIBadRequest, "all and only exclude each other")
	case len(q.Only) > maxCodes:
		return refusal(events.APIBadRequest, "only has more than %d codes", maxCodes)
	case q.Rows < 0:
		return refusal(events.APIBadRequest, "rows is negative")
	}
	for _, code := range q.Only {
		if code == "" || len(code) > maxCodeBytes {
			return refusal(events.APIBadRequest, "only: %.40q is no code", code)
		}
	}
	return nil
}

// retrying is one request to retry.
type retrying struct {
	*Service
	q         *events.RetryJob
	old       *jobs.Job
	ref       events.JobRef // of old
	selection retry.Selection
	digest    string
	linked    *requeue.Linked
	target    requeue.Target
}

func (r *retrying) run(ctx context.Context) (none events.Retried, err error) {
	if err := r.choose(ctx); err != nil {
		return none, err
	}
	answer := events.Retried{Queue: r.target.Queue, Job: r.target.Job, Retries: r.ref, Rows: r.q.Rows}
	if begun := r.target.Begun; begun != nil && begun.SealedAt != nil { // the same was asked before
		answer.Rows = begun.Rows
		if begun.ExpectedRows != nil {
			answer.Rows = *begun.ExpectedRows
		}
		return answer, nil
	}
	part, err := r.part(ctx)
	if err != nil {
		return none, err
	}
	if err := r.open(ctx); err != nil {
		return none, err
	}
	n, err := r.client.PublishRows(ctx, r.target.Queue, r.target.Job, part.Messages(ctx, r.Bus), nil)
	if errors.Is(err, retry.ErrRowsGone) {
		return none, r.gone(err)
	}
	if err != nil {
		return none, err
	}
	answer.Rows, answer.LeftOut, answer.Next = r.q.Rows+n, part.LeftOut, part.Next
	if part.Next == 0 {
		err = r.client.Seal(ctx, r.target.Queue, r.target.Job, answer.Rows)
	}
	r.Log.Info().Str("queue", r.ref.Queue).Str("job", r.ref.Job).Str("to", r.target.Job).Int("rows", n).Msg("rows are retried by hand")
	return answer, err
}

// choose finds the other job, or its name.
func (r *retrying) choose(ctx context.Context) error {
	if r.old.State != events.JobCompleted {
		return refusal(events.APINotSettled, "job %s is %s: it must be completed first", r.ref.Job, r.old.State)
	}
	link := requeue.Retries()
	linked, err := requeue.FindLinked(ctx, r.Jobs, link, r.ref.Queue, r.ref.Job)
	if err != nil {
		return err
	}
	r.linked = linked
	base := link.Base(r.ref.Job, r.old.Retries != nil)
	r.target, err = linked.Choose(ctx, r.Jobs, r.ref.Queue, base, r.q.To, r.digest)
	if err == nil && r.target.Joined {
		err = fmt.Errorf("job %s is there already, and was made of other rows: %w", r.target.Job, requeue.ErrTaken)
	}
	if errors.Is(err, requeue.ErrTaken) {
		return refusal(events.APIJobConflict, "%v", err)
	}
	linked.Except(r.target.Queue, r.target.Job)
	return err
}

// part finds the next rows, and tells why there are none.
func (r *retrying) part(ctx context.Context) (*retry.Part, error) {
	if r.old.ForgottenAt != nil {
		return nil, refusal(events.APIRowsPurged, "job %s was forgotten at %s, and with it its rows: publish them anew",
			r.ref.Job, r.old.ForgottenAt.UTC().Format(time.RFC3339))
	}
	part, err := retry.Find(ctx, r.Bus, r.old, &r.selection, r.q.After, retry.MaxRows)
	if err == nil {
		err = part.LeaveOut(ctx, r.Bus, r.linked)
	}
	switch {
	case err != nil:
		return nil, err
	case part.Rows() > 0:
		stand, err := retry.Stand(ctx, r.Bus, r.old)
		if err == nil && !stand {
			err = r.gone(retry.ErrRowsGone)
		}
		return part, err
	case r.target.Begun == nil && part.Next == 0 && part.LeftOut > 0:
		return nil, refusal(events.APINoSuchRows, "all %d rows of job %s that are meant are in jobs that retry it already: %s",
			part.LeftOut, r.ref.Job, r.others())
	case r.target.Begun == nil && part.Next == 0:
		return nil, refusal(events.APINoSuchRows, "no row of job %s is meant: %s", r.ref.Job, meantRows(&r.selection))
	}
	return part, nil
}

// meantRows says which rows a selection means, for whoever meant none.
func meantRows(s *retry.Selection) string {
	switch {
	case len(s.Only) > 0:
		return fmt.Sprintf("none that failed, expired or was cancelled has a code of %q", s.Only)
	case s.All:
		return "none failed, expired or was cancelled"
	default:
		return "by default those that failed for a passing reason, expired, or were cancelled while the job was not; name codes of errors, or all"
	}
}

// others names the jobs that hold rows.
func (r *retrying) others() string {
	names := make([]string, len(r.linked.Jobs))
	for i := range r.linked.Jobs {
		names[i] = r.linked.Jobs[i].Name()
	}
	return strings.Join(names, ", ")
}

// gone says how long rows are kept, and when that was over.
func (r *retrying) gone(err error) error {
	keepTime := time.Duration(r.old.Policy.KeepRowsSeconds) * time.Second
	return refusal(events.APIRowsPurged, "%v: they are kept for %s after the job's end, which was over at %s; publish them anew. "+
		"keep_rows_seconds in the queue's policy keeps them longer", err, keepTime, r.old.SinceAt.Add(keepTime).UTC().Format(time.RFC3339))
}

// open opens the other job, or finds it as it was begun.
func (r *retrying) open(ctx context.Context) error {
	if r.target.Begun != nil {
		return nil
	}
	old := r.old.Policy
	old.Retry.MaxAttempts = max(old.Retry.MaxAttempts, 1) // there was none before there was such a choice
	policy, err := withOptions(old, &events.OpenJob{Policy: r.q.Policy})
	if err != nil {
		return err
	}
	if err := r.roomFor(ctx); err != nil {
		return err
	}
	j, err := r.Jobs.Open(ctx, r.target.Queue, r.target.Job, jobs.Options{
		Policy: policy, Description: r.old.Description, InputSHA256: r.digest, Retries: &r.ref,
	})
	if err != nil {
		return err
	}
	if j.Retries == nil || *j.Retries != r.ref || j.InputSHA256 != r.digest {
		return refusal(events.APIJobConflict, "job %s was opened by somebody else just now: ask again", r.target.Job)
	}
	return nil
}
