package queues

import (
	"errors"
	"fmt"

	"github.com/batchbus/batchbus/pkg/events"
)

// checkBudget wants limits that are none, or more than nothing. A queue that is to spend nothing is held, see batchbus queues pause.
func checkBudget(l *events.Limits) (faults []error) {
	for _, limit := range []struct {
		field string
		value int64
	}{
		{"job_money", int64(l.JobMoney)},
		{"job_tokens", l.JobTokens},
		{"queue_money", int64(l.QueueMoney)},
		{"queue_tokens", l.QueueTokens},
		{"day_money", int64(l.DayMoney)},
		{"day_tokens", l.DayTokens},
	} {
		if limit.value < 0 {
			faults = append(faults, fmt.Errorf("budget.%s: it is negative", limit.field))
		}
	}
	return faults
}

// errQueueLimit is returned when a job would have limits of its queue: those are read from the queue and nowhere else.
var errQueueLimit = errors.New("budget: a job has a limit of its own, job_money and job_tokens, and no other one for its queue: batchbus queues put")

// CheckJobBudget refuses the limits of a job's own policy that differ from its queue's in what is not the job's.
func CheckJobBudget(queue, job *events.Limits) error {
	own := *job
	own.JobMoney, own.JobTokens = queue.JobMoney, queue.JobTokens
	if own != *queue {
		return errQueueLimit
	}
	return nil
}
