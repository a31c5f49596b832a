package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/batchbus/batchbus/internal/estimate"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

// estimate says what rows may take: those of a job that are in batches and not sent yet, or such as are told of.
func (s *Service) estimate(ctx context.Context, q events.AskEstimate) (events.Estimated, error) {
	sums := make(map[events.GroupKey]estimate.Sum)
	answer := events.Estimated{Queue: cmp.Or(q.Queue, events.DefaultQueue), Groups: []events.EstimatedGroup{}}
	if err := checkEstimate(&q, answer.Queue); err != nil {
		return answer, err
	}
	if q.Job != "" {
		j, err := s.find(ctx, q.JobRef)
		if err != nil {
			return answer, err
		}
		answer.Queue, answer.Job = j.Queue, j.Name()
		if err := s.sumJob(ctx, j.Queue, j.Name(), sums); err != nil {
			return answer, err
		}
	}
	policy, err := s.Queues.Policy(ctx, answer.Queue)
	if err != nil {
		return answer, err
	}
	answer.Limits = policy.Budget
	if q.Job == "" {
		sum := estimate.OfBytes(q.Rows, q.Bytes)
		if q.OutputTokens > 0 {
			sum.Bounded, sum.Unbounded = q.OutputTokens, 0
		}
		sums[events.GroupKey{Window: cmp.Or(q.Window, policy.Window), Model: q.Model}] = sum
	}
	return answer, s.addGroups(ctx, &answer, sums)
}

// checkEstimate wants a job, or rows.
func checkEstimate(q *events.AskEstimate, queue string) error {
	told := q.Rows != 0 || q.Bytes != 0 || q.OutputTokens != 0 || q.Model != "" || q.Window != ""
	switch {
	case events.CheckName(queue) != nil:
		return refusal(events.APIBadRequest, "%v", events.CheckName(queue))
	case q.Job != "" && told:
		return refusal(events.APIBadRequest, "a job's rows are on the bus: name the job alone")
	case q.Job == "" && (q.Rows < 1 || q.Bytes < 0 || q.OutputTokens < 0):
		return refusal(events.APIBadRequest, "name a job, or rows with bytes and model")
	}
	return nil
}

// sumJob reads the rows of the job's batches that are not sent.
func (s *Service) sumJob(ctx context.Context, queue, job string, sums map[events.GroupKey]estimate.Sum) error {
	waiting := make(map[string]events.Batch) // one that changes meanwhile is listed twice, the second time as it is now
	for b, err := range s.Jobs.Batches(ctx, queue, job) {
		if err != nil {
			return err
		}
		if delete(waiting, b.N); b.State == events.BatchPlanned || b.State == events.BatchUploaded {
			waiting[b.N] = b.Batch
		}
	}
	for _, b := range waiting {
		entries, err := manifest.Load(ctx, s.Bus, b.Manifest)
		if err != nil {
			return err
		}
		sum := sums[b.GroupKey]
		for row, err := range manifest.Rows(ctx, s.Bus, queue, job, entries) {
			if err != nil {
				return err
			}
			sum.Add(estimate.OfTail(b.URL, row.Tail))
		}
		sums[b.GroupKey] = sum
	}
	return nil
}

// addGroups makes the groups of an answer from what their rows say.
func (s *Service) addGroups(ctx context.Context, answer *events.Estimated, sums map[events.GroupKey]estimate.Sum) error {
	for key, sum := range sums {
		assumed, from := int64(0), events.FromBounds
		if sum.Unbounded > 0 {
			answers, tokens, err := s.Jobs.Answers(ctx, answer.Queue, key.Model)
			if err != nil {
				return err
			}
			if assumed, from = estimate.Assume(answers, tokens), events.FromHistory; answers == 0 {
				from = events.FromDefault
			}
		}
		tokens := sum.Tokens(assumed)
		answer.Groups = append(answer.Groups, events.EstimatedGroup{
			GroupKey: key, Rows: sum.Rows, Cost: s.Prices.Cost(key.Model, key.Window, &tokens), Realtime: s.Prices.Realtime(key.Model, &tokens),
			Estimate: events.Estimate{InputTokens: tokens.PromptTokens, OutputTokens: tokens.CompletionTokens, OutputFrom: from},
		})
	}
	slices.SortFunc(answer.Groups, func(a, b events.EstimatedGroup) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Window, b.Window), cmp.Compare(a.URL, b.URL))
	})
	return nil
}
