package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
)

// Queues are the policies, which is a [queues.Store] everywhere but in tests.
type Queues interface {
	Policy(ctx context.Context, queue string) (events.Policy, error)
	Get(ctx context.Context, queue string) (queues.Queue, error)
	Put(ctx context.Context, queue string, fields []byte, expect *uint64) (queues.Queue, error)
	From(ctx context.Context, from uint64) iter.Seq2[queues.Queue, error]
}

func (s *Service) getQueue(ctx context.Context, q events.GetQueue) (none events.QueueStatus, err error) {
	name, err := queueName(q.Queue)
	if err != nil {
		return none, err
	}
	found, err := s.Queues.Get(ctx, name)
	if err != nil {
		return none, err
	}
	return s.queueStatus(ctx, &found)
}

func (s *Service) putQueue(ctx context.Context, q events.PutQueue) (none events.QueueStatus, err error) {
	name, err := queueName(q.Queue)
	if err != nil {
		return none, err
	}
	if text := bytes.TrimSpace(q.Policy); len(text) == 0 || text[0] != '{' {
		return none, refusal(events.APIBadRequest, "policy is no object: {} is the default policy")
	}
	put, err := s.Queues.Put(ctx, name, q.Policy, q.Revision)
	switch {
	case errors.Is(err, queues.ErrFaults):
		return none, faults(err)
	case errors.Is(err, queues.ErrRevision):
		return none, refusal(events.APIQueueChanged, "%v: read it again", err)
	case err != nil:
		return none, err
	}
	s.Log.Info().Str("queue", name).Uint64("revision", put.Revision).Msg("the policy of the queue is put")
	return s.queueStatus(ctx, &put)
}

// listQueues returns one page of the queues that have a record.
func (s *Service) listQueues(ctx context.Context, q events.ListQueues) (events.QueueList, error) {
	list := events.QueueList{Queues: []events.QueueStatus{}}
	if q.Limit < 0 {
		return list, refusal(events.APIBadRequest, "limit is negative")
	}
	budgets, err := s.budgets(ctx)
	if err != nil {
		return list, err
	}
	page, last := s.newPage(q.Limit), q.After
	for found, err := range s.Queues.From(ctx, q.After+1) {
		if err != nil {
			return list, err
		}
		status := queueStatus(&found)
		status.Holds = budgets[found.Name].Holds
		if !page.takes(len(events.EncodeAPI(status))) {
			list.Next = last
			break
		}
		list.Queues = append(list.Queues, status)
		last = found.Revision
	}
	return list, nil
}

func queueName(name string) (string, error) {
	name = cmp.Or(name, events.DefaultQueue)
	if err := events.CheckName(name); err != nil {
		return "", refusal(events.APIBadRequest, "%v", err)
	}
	return name, nil
}

// queueStatus is a queue with what holds it.
func (s *Service) queueStatus(ctx context.Context, q *queues.Queue) (events.QueueStatus, error) {
	status := queueStatus(q)
	budget, err := s.Jobs.Budget(ctx, q.Name)
	status.Holds = budget.Holds
	return status, err
}

func queueStatus(q *queues.Queue) events.QueueStatus {
	status := events.QueueStatus{Queue: q.Name, Policy: q.Policy, Lingers: q.Lingers, Revision: q.Revision}
	if q.Record != nil {
		status.ChangedAt = &q.ChangedAt
	}
	if json.Valid(q.Record) {
		status.Record = q.Record
	}
	if q.Fault != nil {
		status.Fault = oneLine(q.Fault)
	}
	return status
}

// faults are all faults of a policy in one refusal.
func faults(err error) *events.APIError { return refusal(events.APIBadRequest, "%s", oneLine(err)) }

// oneLine is an error of several lines on one.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// policyOf is what a new job of the queue works under, its own options in place of the queue's.
func (s *Service) policyOf(ctx context.Context, q *events.OpenJob) (events.Policy, error) {
	policy, err := s.Queues.Policy(ctx, q.Queue)
	switch {
	case errors.Is(err, queues.ErrRecord):
		return policy, refusal(events.APIBadPolicy, "%s", oneLine(err))
	case err != nil:
		return policy, err
	}
	return withOptions(policy, q)
}

// withOptions lays a job's options over a policy.
func withOptions(policy events.Policy, q *events.OpenJob) (events.Policy, error) {
	out, err := queues.Overlay(policy, q.Policy)
	if err != nil {
		return policy, refusal(events.APIBadRequest, "policy: %v", err)
	}
	out.Window = cmp.Or(q.Window, out.Window)
	out.DefaultModel = cmp.Or(q.DefaultModel, out.DefaultModel)
	if err := queues.Check(&out); err != nil {
		return policy, faults(err)
	}
	if out.LingerSeconds != policy.LingerSeconds {
		return policy, refusal(events.APIBadRequest, "policy: linger_seconds is a queue's and not a job's")
	}
	if err := queues.CheckJobBudget(&policy.Budget, &out.Budget); err != nil {
		return policy, refusal(events.APIBadRequest, "policy: %v", err)
	}
	return out, nil
}
