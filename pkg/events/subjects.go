package events

import (
	"errors"
	"fmt"
	"strings"
)

// Subject prefixes; each ends in a dot. What follows is documented at the functions below.
const (
	PrefixRequests    = "batchbus.requests."
	PrefixRows        = "batchbus.rows."
	PrefixResults     = "batchbus.results."
	PrefixDeadletters = "batchbus.deadletters."
	PrefixEvents      = "batchbus.events."
)

// ErrSubject is returned when a subject does not have the shape that its prefix calls for.
var ErrSubject = errors.New("subject has the wrong shape")

// RequestSubject is where rows for a job are published. An empty job means the queue's rolling job.
func RequestSubject(queue, job string) string {
	if job == "" {
		return PrefixRequests + queue
	}
	return PrefixRequests + queue + "." + job
}

// ParseRequestSubject splits a request subject into queue and job; job is empty for a rolling job. Anything that is not <queue> or
// <queue>.<job>, both of them tokens, and an explicit job that begins with "auto-", is [ErrSubject].
func ParseRequestSubject(subject string) (queue, job string, err error) {
	rest, ok := strings.CutPrefix(subject, PrefixRequests)
	queue, job, explicit := strings.Cut(rest, ".")
	if !ok || !IsToken(queue) || explicit && (!IsToken(job) || IsRolling(job)) {
		return "", "", fmt.Errorf("parse request subject %q: %w", subject, ErrSubject)
	}
	return queue, job, nil
}

// RowsSubject is where ingest publishes a job's blocks.
func RowsSubject(queue, job string) string { return PrefixRows + queue + "." + job }

// ParseRowsSubject is the inverse of [RowsSubject].
func ParseRowsSubject(subject string) (queue, job string, err error) {
	rest, ok := strings.CutPrefix(subject, PrefixRows)
	queue, job, found := strings.Cut(rest, ".")
	if !ok || !found || !IsToken(queue) || !IsToken(job) {
		return "", "", fmt.Errorf("parse rows subject %q: %w", subject, ErrSubject)
	}
	return queue, job, nil
}

// ResultSubject is where the one result of a row stands.
func ResultSubject(queue, job, customID string) string {
	return PrefixResults + queue + "." + job + "." + RowToken(customID)
}

// ResultsFilter matches every result of a job.
func ResultsFilter(queue, job string) string { return PrefixResults + queue + "." + job + ".>" }

// DeadletterSubject is where the dead letter of one source stands; source is 32 hex characters.
func DeadletterSubject(queue, job, source string) string {
	return PrefixDeadletters + queue + "." + job + "." + source
}

// DeadlettersFilter matches every dead letter of a job.
func DeadlettersFilter(queue, job string) string { return PrefixDeadletters + queue + "." + job + ".>" }

// EventSubject is where an event stands: batchbus.events.<noun>.<verb>.<queue>.<job>.<id>, kind being "<noun>.<verb>".
func EventSubject(kind Kind, queue, job, id string) string {
	return PrefixEvents + string(kind) + "." + queue + "." + job + "." + id
}

// ParseEventSubject is the inverse of [EventSubject].
func ParseEventSubject(subject string) (kind Kind, queue, job, id string, err error) {
	rest, ok := strings.CutPrefix(subject, PrefixEvents)
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 5 || !IsToken(parts[2]) || !IsToken(parts[3]) {
		return "", "", "", "", fmt.Errorf("parse event subject %q: %w", subject, ErrSubject)
	}
	return Kind(parts[0] + "." + parts[1]), parts[2], parts[3], parts[4], nil
}

// JobKey is the key of a job's state in the bucket batchbus_jobs.
func JobKey(queue, job string) string { return "job." + queue + "." + job }

// BatchKey is the key of a batch's state; n is "1", or "5-1" for the first follow-up of batch 5.
func BatchKey(queue, job, n string) string { return "batch." + queue + "." + job + "." + n }

// CursorKey is the key of the collector's cursor of a batch.
func CursorKey(queue, job, n string) string { return "cursor." + queue + "." + job + "." + n }

// BudgetKey is the key of what a queue may spend.
func BudgetKey(queue string) string { return "budget." + queue }

// BatchPrefix is what the keys of all batches of a job begin with.
func BatchPrefix(queue, job string) string { return "batch." + queue + "." + job + "." }

// CursorPrefix is what the keys of the cursors of all batches of a job begin with.
func CursorPrefix(queue, job string) string { return "cursor." + queue + "." + job + "." }
