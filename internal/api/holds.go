package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// One answer ends at most resumePage holds and takes about resumeTime: whoever asks turns to another replica when an answer is late, and what
// the slow one did would be in no answer.
const (
	resumePage = 100
	resumeTime = time.Second
)

// maxProviderID bounds an id of the provider's that is put into a state; theirs have 36 characters.
const maxProviderID = 200

func (s *Service) adopt(ctx context.Context, q events.EndHold) (events.Batch, error) {
	return s.endHold(ctx, q, events.WishAdopt)
}

func (s *Service) abandon(ctx context.Context, q events.EndHold) (events.Batch, error) {
	return s.endHold(ctx, q, events.WishAbandon)
}

func (s *Service) resumeBatch(ctx context.Context, q events.EndHold) (events.Batch, error) {
	if q.ProviderBatchID != "" {
		return events.Batch{}, refusal(events.APIBadRequest, "a resume names no batch of the provider: that is adopt or abandon")
	}
	return s.endHold(ctx, q, events.WishResume)
}

// endHold puts down what is wished; the submitter does what calls the provider.
func (s *Service) endHold(ctx context.Context, q events.EndHold, kind events.WishKind) (none events.Batch, err error) {
	j, err := s.find(ctx, q.JobRef)
	if err != nil {
		return none, err
	}
	if !events.IsToken(q.N) {
		return none, refusal(events.APIBadRequest, "n is %.20q, and no batch's number", q.N)
	}
	if len(q.ProviderBatchID) > maxProviderID {
		return none, refusal(events.APIBadRequest, "provider_batch_id has more than %d bytes", maxProviderID)
	}
	b, err := s.Jobs.EndHold(ctx, j.Queue, j.Name(), q.N, events.Wish{Kind: kind, ProviderBatchID: q.ProviderBatchID})
	if err != nil {
		return none, whyNot(&j, q.N, &b, err)
	}
	s.Log.Info().Str("queue", b.Queue).Str("job", b.Job).Str("batch", b.N).Str("wish", string(kind)).Msg("a person ends a hold")
	return b.Batch, nil
}

// whyNot makes an answer of what kept a hold from being ended.
func whyNot(j *jobs.Job, n string, b *jobs.Batch, err error) error {
	switch {
	case errors.Is(err, jetstore.ErrNotFound):
		return refusal(events.APIUnknownBatch, "job %s has no batch %s", j.Name(), n)
	case errors.Is(err, jobs.ErrNotHeld) && b.Why == events.WhyQueueHeld:
		return refusal(events.APIOtherEnd, "batch %s of job %s waits for its queue: %s", n, j.Name(), queueWay(j.Queue)+", or queues resume "+j.Queue+" where a person paused it")
	case errors.Is(err, jobs.ErrNotHeld):
		return refusal(events.APINotHeld, "batch %s of job %s is %s and not held", n, j.Name(), b.State)
	case errors.Is(err, jobs.ErrOpaque):
		return refusal(events.APIOtherEnd, "batch %s of job %s: %v", n, j.Name(), jobs.ErrOpaque)
	case errors.Is(err, jobs.ErrOtherEnd):
		code, _ := jobs.HoldOf(&b.Batch)
		return refusal(events.APIOtherEnd, "batch %s of job %s is held as %s: %s", n, j.Name(), code, ways(code))
	default:
		return err
	}
}

// ways says how a batch's hold of a code ends.
func ways(code string) string {
	kinds := events.Endings(code)
	switch {
	case code == events.HoldBudget:
		return "it ends by itself when the limit allows it, or by batchbus resume JOB --budget"
	case code == events.HoldUnpriced:
		return "it ends by itself when the submitter's price table has the price"
	case len(kinds) == 0:
		return "it ends by itself, when the key is configured"
	}
	words := make([]string, len(kinds))
	for i, kind := range kinds {
		words[i] = string(kind)
	}
	return "it ends by " + strings.Join(words, " or ")
}

// resume ends the holds of a job with its batches, or those of a whole queue: its own, and those of one code of its jobs and batches.
func (s *Service) resume(ctx context.Context, q events.ResumeJobs) (events.Resumed, error) {
	r := resuming{Service: s, code: q.Code, until: time.Now().Add(resumeTime), answer: events.Resumed{Holds: []events.ResumedHold{}}}
	if err := checkAllowance(&q); err != nil {
		return r.answer, err
	}
	if q.Job == "" {
		r.code = cmp.Or(q.Code, events.HoldCredit)
		queue := cmp.Or(q.Queue, events.DefaultQueue)
		if err := events.CheckName(queue); err != nil {
			return r.answer, refusal(events.APIBadRequest, "%v", err)
		}
		if err := r.ofQueue(ctx, queue, q.Code); err != nil {
			return r.answer, err
		}
		return r.queue(ctx, queue)
	}
	j, err := s.find(ctx, q.JobRef)
	if err == nil && q.Allow != nil {
		r.allow = true
		j, err = s.Jobs.Allow(ctx, j.Queue, j.Name(), *q.Allow)
	}
	if err != nil {
		return r.answer, err
	}
	return r.job(ctx, &j)
}

func checkAllowance(q *events.ResumeJobs) error {
	switch {
	case q.Allow == nil:
		return nil
	case q.Job == "":
		return refusal(events.APIBadRequest, "allow is a job's: name one")
	case q.Allow.Money < 0, q.Allow.Tokens < 0:
		return refusal(events.APIBadRequest, "allow is negative")
	}
	return nil
}

// resuming is one request to end holds.
type resuming struct {
	*Service
	code        string // only holds of this code; empty: all
	until       time.Time
	ended, kept int
	waits       bool // a batch of the job waits for its queue
	allow       bool // the job may use more: the submitter looks again at what a limit holds
	answer      events.Resumed
}

func (r *resuming) queue(ctx context.Context, queue string) (events.Resumed, error) {
	for j, err := range r.Jobs.Jobs(ctx) {
		if err != nil {
			return r.answer, fmt.Errorf("list jobs: %w", err)
		}
		if j.Queue != queue || j.Hold == nil {
			continue
		}
		if err := r.ofJob(ctx, &j); err != nil || r.answer.More {
			return r.answer, err
		}
	}
	for b, err := range r.Jobs.AllBatches(ctx) {
		if err != nil {
			return r.answer, fmt.Errorf("list batches: %w", err)
		}
		if b.Queue != queue {
			continue
		}
		if err := r.ofBatch(ctx, &b); err != nil || r.answer.More {
			return r.answer, err
		}
	}
	return r.answer, nil
}

func (r *resuming) job(ctx context.Context, j *jobs.Job) (events.Resumed, error) {
	if err := r.ofJob(ctx, j); err != nil || r.answer.More {
		return r.answer, err
	}
	for b, err := range r.Jobs.Batches(ctx, j.Queue, j.Name()) {
		if err != nil {
			return r.answer, fmt.Errorf("list batches: %w", err)
		}
		if err := r.ofBatch(ctx, &b); err != nil || r.answer.More {
			return r.answer, err
		}
		r.waits = r.waits || b.Why == events.WhyQueueHeld && !b.State.Ended()
	}
	return r.answer, r.queueOf(ctx, j)
}

func (r *resuming) ofJob(ctx context.Context, j *jobs.Job) error {
	if j.Hold == nil || r.code != "" && r.code != j.Hold.Code {
		return nil
	}
	hold := events.ResumedHold{Queue: j.Queue, Job: j.Name(), Code: j.Hold.Code}
	_, err := r.Jobs.ResumeJob(ctx, j.Queue, j.Name())
	return r.note(hold, err)
}

// ofBatch ends the hold of a batch that was listed, which may have ended since.
func (r *resuming) ofBatch(ctx context.Context, b *jobs.Batch) error {
	code, held := jobs.HoldOf(&b.Batch)
	if !held || r.code != "" && r.code != code {
		return nil
	}
	hold := events.ResumedHold{Queue: b.Queue, Job: b.Job, Batch: b.N, Code: code}
	if r.allow && code == events.HoldBudget { // it stands until the submitter has looked
		if hold.Ended, r.kept = true, r.kept+1; r.kept <= maxPage {
			r.answer.Holds = append(r.answer.Holds, hold)
		}
		return nil
	}
	if b.Wish != nil {
		hold.Why = "the submitter is about to " + string(b.Wish.Kind) + " it"
		return r.note(hold, jobs.ErrOtherEnd)
	}
	_, err := r.Jobs.EndHold(ctx, b.Queue, b.Job, b.N, events.Wish{Kind: events.WishResume})
	return r.note(hold, err)
}

func (r *resuming) note(hold events.ResumedHold, err error) error {
	switch {
	case errors.Is(err, jobs.ErrNotHeld), errors.Is(err, jetstore.ErrNotFound): // it ended meanwhile
		return nil
	case errors.Is(err, jobs.ErrOtherEnd):
		hold.Why = cmp.Or(hold.Why, ways(hold.Code))
		if r.kept++; r.kept > maxPage {
			return nil
		}
	case err != nil:
		return err
	default:
		hold.Ended = true
		r.ended++
	}
	r.answer.Holds = append(r.answer.Holds, hold)
	r.answer.More = r.ended == resumePage || r.ended > 0 && time.Now().After(r.until)
	return nil
}
