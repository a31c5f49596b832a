package audit

import (
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// resultsKept is how long RESULTS and DEADLETTERS keep a message (design.md section 2).
const resultsKept = 30 * 24 * time.Hour

// settleBasis decides, after the walk, what the job can be judged by.
func (l *ledger) settleBasis(now time.Time) {
	j, r := l.job, l.report
	keepOver := !now.Before(j.SinceAt.Add(time.Duration(j.Policy.KeepRowsSeconds) * time.Second))
	switch completed := j.State == events.JobCompleted; {
	case completed && j.ForgottenAt != nil:
		r.Basis, r.Why = ByStates, "the job was forgotten: its rows and results were removed"
	case completed && now.Sub(j.OpenedAt) >= resultsKept:
		r.Basis, r.Why = ByStates, "the job is older than results are kept"
	case j.Walked.Sequence == 0 || l.sawWalked:
	case completed && !l.sawBlock && keepOver:
		r.Basis, r.Why = ByTotals, "the rows were purged after their keep time"
	default:
		r.Basis, r.Why = ByTotals, "the rows are not those that the state names"
		r.problem(Problem{Code: RowsMissing}, "the rows are planned up to block %d of %s, which BATCHBUS_ROWS does not hold",
			j.Walked.Sequence, j.Walked.At.Format(time.RFC3339Nano))
	}
}

// closeRows judges each row and each input that came second, once everything is read.
func (l *ledger) closeRows() {
	open := 0
	for i := range l.owners {
		o := &l.owners[i]
		l.report.Owners++
		if o.refused {
			l.report.Refused++
		}
		switch code, why := l.fault(o); {
		case code != "":
			l.report.problem(Problem{Code: code, Place: o.place(), Batch: l.carrierOf(o)}, "%s", why)
		case !o.answered:
			open++
		}
	}
	l.report.open(open, "rows have no result yet")
	l.report.open(l.strangers, "results are of rows that came during the audit, or of none")
	l.closeLetters()
	l.closeCounts()
}

func (l *ledger) carrierOf(o *owner) string {
	if o.batch == 0 {
		return ""
	}
	return l.batches[o.batch-1].n
}

// fault is what is wrong about how a row ended, or did not.
func (l *ledger) fault(o *owner) (code, why string) {
	planned := l.job.State == events.JobPlanned || l.job.State == events.JobCompleted
	switch {
	case o.answered && !o.refused && o.batch == 0 && planned && o.sequence <= l.job.Walked.Sequence &&
		(!o.revoked || l.job.CancelWanted == nil):
		return NotPlanned, "the row has a result and is in no batch"
	case o.answered:
		return "", ""
	case o.refused && o.sequence <= l.job.Walked.Sequence:
		return MissingResult, "the row was refused and has no result"
	case o.refused:
		return "", ""
	case o.batch == 0 && planned:
		return NotPlanned, "the row is in no batch and has no result"
	case o.batch == 0:
		return "", ""
	case o.settled:
		return MissingResult, "its batch counts the row as answered, and it has no result"
	case l.batches[o.batch-1].ended || l.job.State == events.JobCompleted:
		return MissingResult, "its batch has ended, and the row has no result"
	}
	return "", ""
}

func (l *ledger) closeLetters() {
	open := 0
	for source, wanted := range l.letters {
		switch {
		case wanted.present:
		case wanted.place.Sequence <= l.job.Walked.Sequence:
			at := wanted.place
			l.report.problem(Problem{Code: MissingDeadLetter, Place: &at}, "the row, input %s, came second or late and has no dead letter", source)
		default:
			open++
		}
	}
	l.report.open(open, "rows that came second or late have no dead letter yet")
	l.closeArrivals()
}

// closeArrivals compares what is there with what the publisher said beside the seal: input that never became a row leaves nothing but its dead
// letter, and a row that was lost before ingest saw it leaves nothing at all. A cancel cuts off what was not taken yet.
func (l *ledger) closeArrivals() {
	j := l.job
	if j.ExpectedRows == nil || j.CancelWanted != nil || l.messages > 0 || j.State != events.JobPlanned && j.State != events.JobCompleted {
		return
	}
	if there := len(l.owners) + len(l.letters) + l.lines; there < *j.ExpectedRows {
		l.report.problem(Problem{Code: RowsUnaccounted}, "the publisher said %d rows; rows and dead letters are %d: "+
			"%d were lost before they were taken, or their dead letters were purged", *j.ExpectedRows, there, *j.ExpectedRows-there)
	}
}
