package budget

import (
	"github.com/batchbus/batchbus/pkg/events"
)

// Reserve puts what c's batch needs into the ledger and into what the job spends, in the place of what was reserved for it before, and returns
// all three. A batch that is reserved for on the same day keeps what it has. It does not check.
func Reserve(c *Case) (own events.Reservation, ledger events.Ledger, job events.Spending) {
	if c.Ledger != nil {
		ledger = *c.Ledger
	}
	if c.JobSpent != nil {
		job = *c.JobSpent
	}
	if c.Own != nil && c.Own.Day >= c.day() {
		return *c.Own, ledger, job
	}
	if c.Own != nil {
		ledger.Total.Reserved, job.Reserved = ledger.Total.Reserved.Minus(c.Own.Amount), job.Reserved.Minus(c.Own.Amount)
	}
	if day := c.day(); ledger.Day != day {
		ledger.Day, ledger.Today = day, events.Spending{}
	}
	need := c.Need.Amount
	job.Reserved = job.Reserved.Plus(need)
	ledger.Total.Reserved, ledger.Today.Reserved = ledger.Total.Reserved.Plus(need), ledger.Today.Reserved.Plus(need)
	if ledger.Currency == "" {
		ledger.Currency = c.Need.Currency
	}
	return events.Reservation{Amount: need, Currency: c.Need.Currency, Basis: c.Need.Basis, Day: ledger.Day}, ledger, job
}

// Used is what a batch that ends has used, by the totals of its rows, and the day on which it counts: that of its reservation, or of its submission.
// Where it has usage that has no price in the currency of its reservation, the reserved amount counts: that is no guess on the low side.
func Used(b *events.Batch, totals *events.Totals) events.Reservation {
	used := events.Reservation{Amount: events.Amount{Tokens: totals.Usage.TotalTokens, Money: totals.Cost}, Currency: totals.Currency}
	if b.SubmittedAt != nil {
		used.Day = Day(*b.SubmittedAt)
	}
	if own := b.Reserved; own != nil {
		used.Day, used.Basis = own.Day, own.Basis
		if own.Currency != "" && own.Currency != totals.Currency && totals.Usage.TotalTokens > 0 {
			used.Money, used.Currency = own.Money, own.Currency
		}
		if used.Currency == "" {
			used.Currency = own.Currency
		}
	}
	return used
}

// Settle puts what a batch has used in the place of what was reserved for it, if anything was.
func Settle(ledger *events.Ledger, own *events.Reservation, used *events.Reservation) {
	spent := used.Amount
	if used.Currency != ledger.Currency && ledger.Currency != "" {
		spent.Money = 0 // it is not of this money, and a check of money finds no price then
	}
	if ledger.Currency == "" {
		ledger.Currency = used.Currency
	}
	if own != nil {
		ledger.Total.Reserved = ledger.Total.Reserved.Minus(own.Amount)
		if own.Day == ledger.Day {
			ledger.Today.Reserved = ledger.Today.Reserved.Minus(own.Amount)
		}
	}
	ledger.Total.Spent = ledger.Total.Spent.Plus(spent)
	if used.Day == ledger.Day {
		ledger.Today.Spent = ledger.Today.Spent.Plus(spent)
	}
}

// SettleJob is [Settle] for what a job spends.
func SettleJob(job *events.Spending, own, used *events.Reservation) {
	if own != nil {
		job.Reserved = job.Reserved.Minus(own.Amount)
	}
	job.Spent = job.Spent.Plus(used.Amount)
}

// Start is the ledger of a queue, and what one of its jobs has spent, from the states of the queue's batches: those that were sent before there
// was a limit count as what they used, once they have ended.
type Start struct {
	Ledger events.Ledger
	job    string
	Job    events.Spending
}

// NewStart begins a ledger on a day.
func NewStart(job, day string) *Start { return &Start{job: job, Ledger: events.Ledger{Day: day}} }

// Add adds one of the queue's batches. Each is added once.
func (s *Start) Add(b *events.Batch) {
	own, used := b.Reserved, b.Spent
	switch {
	case b.State.Ended() && used == nil && b.Totals != nil:
		u := Used(b, b.Totals)
		used = &u
	case !b.State.Ended() && own != nil:
		s.reserve(b.Job, own)
		return
	}
	if !b.State.Ended() || used == nil {
		return
	}
	Settle(&s.Ledger, nil, used)
	if b.Job == s.job {
		SettleJob(&s.Job, nil, used)
	}
}

func (s *Start) reserve(job string, own *events.Reservation) {
	s.Ledger.Total.Reserved = s.Ledger.Total.Reserved.Plus(own.Amount)
	if own.Day == s.Ledger.Day {
		s.Ledger.Today.Reserved = s.Ledger.Today.Reserved.Plus(own.Amount)
	}
	if s.Ledger.Currency == "" {
		s.Ledger.Currency = own.Currency
	}
	if job == s.job {
		s.Job.Reserved = s.Job.Reserved.Plus(own.Amount)
	}
}
