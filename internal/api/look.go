package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// find returns the job that ref names, by its own name or by the provider's id of one of its batches.
func (s *Service) find(ctx context.Context, ref events.JobRef) (none jobs.Job, err error) {
	queue := cmp.Or(ref.Queue, events.DefaultQueue)
	if err := events.CheckName(queue); err != nil {
		return none, refusal(events.APIBadRequest, "%v", err)
	}
	if ref.Job == "" {
		return none, refusal(events.APIBadRequest, "the request names no job")
	}
	if events.IsToken(ref.Job) {
		j, err := s.Jobs.Job(ctx, queue, ref.Job)
		if err == nil || !errors.Is(err, jetstore.ErrNotFound) {
			return j, err
		}
	}
	for b, err := range s.Jobs.AllBatches(ctx) {
		if err != nil {
			return none, fmt.Errorf("look for batch: %w", err)
		}
		if b.ProviderBatchID == ref.Job {
			return s.Jobs.Job(ctx, b.Queue, b.Job)
		}
	}
	return none, refusal(events.APIUnknownJob, "queue %s has no job %.100s, and no batch has that id at the provider", queue, ref.Job)
}

// get returns a job with one page of its batches.
func (s *Service) get(ctx context.Context, q events.GetJob) (none events.JobStatus, err error) {
	if q.Limit < 0 {
		return none, refusal(events.APIBadRequest, "limit is negative")
	}
	j, err := s.find(ctx, q.JobRef)
	if err != nil {
		return none, err
	}
	status := statusOf(&j.Job)
	if status.Totals == nil {
		totals, err := s.Jobs.Settled(ctx, &j)
		if err != nil {
			return none, err
		}
		status.Totals = &totals
	}
	if status.QueueHolds, err = s.queueHolds(ctx, &j.Job); err != nil {
		return none, err
	}
	batches, err := s.batches(ctx, &j)
	if err != nil {
		return none, err
	}
	batches = slices.DeleteFunc(batches, func(b events.Batch) bool { return q.After != "" && events.CompareNumbers(b.N, q.After) <= 0 })
	page := s.newPage(q.Limit)
	for i := range batches {
		if !page.takes(len(batches[i].Encode())) {
			status.More = true
			break
		}
		status.Batches = batches[:i+1]
	}
	return status, nil
}

// batches are all batches of a job, in order of their numbers.
func (s *Service) batches(ctx context.Context, j *jobs.Job) ([]events.Batch, error) {
	byNumber := make(map[string]events.Batch) // one that changes meanwhile is listed twice, the second time as it is now
	for b, err := range s.Jobs.Batches(ctx, j.Queue, j.Name()) {
		if err != nil {
			return nil, fmt.Errorf("list batches: %w", err)
		}
		byNumber[b.N] = b.Batch
	}
	all := make([]events.Batch, 0, len(byNumber))
	for _, b := range byNumber {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b events.Batch) int { return events.CompareNumbers(a.N, b.N) })
	return all, nil
}

// list returns one page of jobs.
func (s *Service) list(ctx context.Context, q events.ListJobs) (events.JobList, error) {
	list := events.JobList{Jobs: []events.JobStatus{}}
	if q.Limit < 0 || q.Queue != "" && !events.IsToken(q.Queue) {
		return list, refusal(events.APIBadRequest, "limit is negative, or queue is no name")
	}
	budgets, err := s.budgets(ctx)
	if err != nil {
		return list, err
	}
	page, last := s.newPage(q.Limit), q.After
	for j, err := range s.Jobs.JobsFrom(ctx, q.After+1) {
		if err != nil {
			return list, fmt.Errorf("list jobs: %w", err)
		}
		if q.Queue == "" || q.Queue == j.Queue {
			status, budget := statusOf(&j.Job), budgets[j.Queue]
			status.QueueHolds = holdsOf(&budget, &j.Job)
			if !page.takes(len(events.EncodeAPI(status))) {
				list.Next = last
				break
			}
			list.Jobs = append(list.Jobs, status)
		}
		last = j.Revision
	}
	return list, nil
}

// page counts what fits into one answer.
type page struct {
	limit, room  int
	taken, bytes int
}

func (s *Service) newPage(limit int) *page {
	if limit == 0 {
		limit = maxPage
	}
	return &page{limit: min(limit, maxPage), room: s.Bus.MaxPayload() / 2}
}

// maxPage bounds an answer by number, so that one page is not a second's work.
const maxPage = 1000

// takes reports whether something of the given size still fits. The first always does: a record is below half of max_payload.
func (p *page) takes(size int) bool {
	if p.taken > 0 && (p.taken == p.limit || p.bytes+size > p.room) {
		return false
	}
	p.taken, p.bytes = p.taken+1, p.bytes+size+len(",")
	return true
}

func statusOf(j *events.Job) events.JobStatus {
	return events.JobStatus{
		Queue: j.Queue, Job: j.Job, State: j.State, SinceAt: j.SinceAt, OpenedAt: j.OpenedAt, SealedAt: j.SealedAt,
		CancelWantedAt: j.CancelWanted, ForgottenAt: j.ForgottenAt, Description: j.Description, InputSHA256: j.InputSHA256,
		Fixes: j.Fixes, Retries: j.Retries, Policy: j.Policy, Hold: j.Hold, Rows: j.Rows, ExpectedRows: j.ExpectedRows, Totals: j.Totals,
		Spending: j.Spending, Allowed: j.Allowed,
	}
}
