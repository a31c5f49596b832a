package budget

import (
	"strconv"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// Need is what a batch may use.
type Need struct {
	events.Amount
	// Currency and Basis are the price's; empty where the model has none.
	Currency string
	Basis    string
}

// Case is all that a check depends on.
type Case struct {
	// Job holds the job's own limits, which are those of a job, and Queue those of its queue as they are now.
	Job, Queue events.Limits
	Allowed    *events.Allowance
	JobSpent   *events.Spending // nil: nothing yet
	Ledger     *events.Ledger   // nil: nothing yet
	// Own is what is reserved for the batch already; nil: nothing.
	Own  *events.Reservation
	Day  string
	Need Need
}

// Verdict is why a batch may not be sent. The zero value: it may.
type Verdict struct {
	Shortage *events.Shortage
	// Unpriced says that there is a limit of money, and no price to hold against it, in which currency ever.
	Unpriced bool
}

// OK reports whether the batch may be sent.
func (v Verdict) OK() bool { return v == Verdict{} }

// Day is the day that a time belongs to.
func Day(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// Limited reports whether anything limits what a batch may use.
func (c *Case) Limited() bool {
	job, queue := c.Job, c.Queue
	return c.Allowed != nil || job.JobMoney > 0 || job.JobTokens > 0 || queue.QueueMoney > 0 || queue.QueueTokens > 0 || queue.DayMoney > 0 ||
		queue.DayTokens > 0
}

// line is one limit, and what was spent under it.
type line struct {
	name  string
	day   string
	money bool
	limit int64
	under events.Spending
}

// Check judges a batch by all limits. What is reserved for it on the same day stands; a person's word for the job stands in the place of every
// limit.
func Check(c *Case) Verdict {
	if c.Own != nil && c.Own.Day >= c.day() {
		return Verdict{}
	}
	var found Verdict
	for _, l := range c.lines() {
		switch {
		case l.limit <= 0:
		case l.money && !c.priced():
			found.Unpriced = true
		case !l.holds(c.Need.Amount) && found.Shortage == nil:
			found.Shortage = l.shortage(&c.Need)
		}
	}
	return found
}

// priced reports whether the need can be added to what was spent.
func (c *Case) priced() bool {
	return c.Need.Currency != "" && (c.Ledger == nil || c.Ledger.Currency == "" || c.Ledger.Currency == c.Need.Currency)
}

// day is the day of a reservation now: a clock that is behind does not take the ledger back.
func (c *Case) day() string {
	if c.Ledger != nil {
		return max(c.Day, c.Ledger.Day)
	}
	return c.Day
}

func (c *Case) lines() []line {
	var job, total, today events.Spending
	if c.JobSpent != nil {
		job = *c.JobSpent
	}
	if c.Ledger != nil {
		total = c.Ledger.Total
		if c.Ledger.Day == c.day() {
			today = c.Ledger.Today
		}
	}
	if c.Own != nil { // of an earlier day: it is made anew
		job.Reserved, total.Reserved = job.Reserved.Minus(c.Own.Amount), total.Reserved.Minus(c.Own.Amount)
	}
	if c.Allowed != nil {
		return []line{
			{name: "allowed_money", money: true, limit: int64(c.Allowed.Money), under: job},
			{name: "allowed_tokens", limit: c.Allowed.Tokens, under: job},
		}
	}
	return []line{
		{name: "job_money", money: true, limit: int64(c.Job.JobMoney), under: job},
		{name: "job_tokens", limit: c.Job.JobTokens, under: job},
		{name: "queue_money", money: true, limit: int64(c.Queue.QueueMoney), under: total},
		{name: "queue_tokens", limit: c.Queue.QueueTokens, under: total},
		{name: "day_money", day: c.day(), money: true, limit: int64(c.Queue.DayMoney), under: today},
		{name: "day_tokens", day: c.day(), limit: c.Queue.DayTokens, under: today},
	}
}

// holds reports whether there is room for what is needed. It is exact where sums would be too large.
func (l *line) holds(need events.Amount) bool {
	all := l.under.Spent.Plus(l.under.Reserved).Plus(need)
	if l.money {
		return int64(all.Money) <= l.limit
	}
	return all.Tokens <= l.limit
}

func (l *line) shortage(need *Need) *events.Shortage {
	text := func(a events.Amount) string {
		if l.money {
			return a.Money.String()
		}
		return strconv.FormatInt(a.Tokens, 10)
	}
	s := &events.Shortage{
		Limit: l.name, Day: l.day, Unit: "tokens", Allowed: text(events.Amount{Tokens: l.limit, Money: events.Money(l.limit)}),
		Spent: text(l.under.Spent), Reserved: text(l.under.Reserved), Needed: text(need.Amount),
	}
	if l.money {
		s.Unit = need.Currency
	}
	return s
}
