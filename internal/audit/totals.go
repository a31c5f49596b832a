package audit

import (
	"fmt"

	"github.com/batchbus/batchbus/pkg/events"
)

// closeCounts compares the state's counts of rows with those that stand up to Walked.
func (l *ledger) closeCounts() {
	j, r := l.job, l.report
	count, refused := 0, 0
	for i := range l.owners {
		if o := &l.owners[i]; o.sequence <= j.Walked.Sequence {
			count++
			if o.refused {
				refused++
			}
		}
	}
	if count != j.Rows || refused != j.Rejected {
		r.problem(Problem{Code: JobRows}, "the state counts %d rows, %d of them refused; the stream holds %d, %d of them refused", j.Rows, j.Rejected, count, refused)
	}
	if j.State != events.JobOpen && !l.sealed {
		r.problem(Problem{Code: SealMissing}, "the job is %s, and no seal stands in its rows", j.State)
	}
	if j.State == events.JobOpen {
		r.open(l.after, "rows are not planned yet")
		if !l.sealed {
			r.Open = append(r.Open, "the job is not sealed")
		}
	}
}

// closeTotals compares a completed job's totals with its batches and with the results.
func (l *ledger) closeTotals(batches []carried) {
	j, r := l.job, l.report
	if j.State != events.JobCompleted {
		return
	}
	if j.Totals == nil {
		r.problem(Problem{Code: JobTotals}, "the job is completed without totals")
		return
	}
	sum := events.Totals{Rows: j.Rejected + j.CancelledRows, Rejected: j.Rejected, Cancelled: j.CancelledRows}
	for i := range batches {
		b := &batches[i]
		if !b.State.Ended() {
			r.problem(Problem{Code: BatchTotals, Batch: b.N}, "the job is completed, and the batch is %s", b.State)
		} else if b.Totals != nil {
			sum.Add(*b.Totals)
		}
		if b.Billed != nil {
			sum.Add(events.Totals{Billed: *b.Billed})
		}
	}
	if sum != *j.Totals {
		r.problem(Problem{Code: JobTotals}, "the job counts %s; its batches add up to %s", words(j.Totals), words(&sum))
	}
	if j.Totals.Rows != j.Rows {
		r.problem(Problem{Code: JobTotals}, "the job has %d rows and answered %d", j.Rows, j.Totals.Rows)
	}
	answered := *j.Totals
	answered.Billed = 0 // no result says it
	if r.Basis != ByStates && r.Results != answered {
		r.problem(Problem{Code: JobTotals}, "the job counts %s; the stream holds %s", words(j.Totals), words(&r.Results))
	}
}

// words are the totals for people.
func words(t *events.Totals) string {
	return fmt.Sprintf("%d rows (succeeded %d, truncated %d, failed %d, expired %d, cancelled %d, rejected %d, tokens %d in %d out, cost %s, billed %s)",
		t.Rows, t.Succeeded, t.Truncated, t.Failed, t.Expired, t.Cancelled, t.Rejected, t.Usage.PromptTokens, t.Usage.CompletionTokens, t.Cost, t.Billed)
}
