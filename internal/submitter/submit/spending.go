package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/budget"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
)

// spending is what a decision needs to know of the limits of a batch.
type spending struct {
	limited bool
	// estimate is what the batch's rows may take; nil: not known yet.
	estimate *events.Estimate
	// verdict holds once there is an estimate.
	verdict budget.Verdict
}

// isBudgetHold reports whether a hold ends by itself when the limits allow the batch.
func isBudgetHold(h *events.Hold) bool {
	return h != nil && (h.Code == events.HoldBudget || h.Code == events.HoldUnpriced)
}

// decideSpending keeps a batch that no POST of which was ever answered from being uploaded when a limit does not allow it.
func decideSpending(v *view) (action, bool) {
	switch s := &v.spending; {
	case !s.limited:
		return action{}, false
	case s.estimate == nil:
		return action{kind: estimateRows}, true
	case !s.verdict.OK():
		return action{kind: holdSpending}, true
	default:
		return action{}, false
	}
}

// decideOverLimit is about a batch that a limit holds: it goes on when that allows it.
func decideOverLimit(v *view) action {
	next, kept := decideSpending(v)
	switch {
	case !kept:
		return action{kind: resume}
	case next.kind == holdSpending && isTold(v.batch, &v.spending.verdict):
		return action{kind: stop}
	default:
		return next
	}
}

// isTold reports whether a batch is held for just this: by the same limit, which has the same size. What is spent under it changes all the time.
func isTold(b *events.Batch, v *budget.Verdict) bool {
	was, now := b.Shortage, v.Shortage
	if was == nil || now == nil || v.Unpriced {
		return v.Unpriced == (b.Hold.Code == events.HoldUnpriced) && (was == nil) == (now == nil)
	}
	return was.Limit == now.Limit && was.Allowed == now.Allowed && b.Hold.Code == events.HoldBudget
}

// readLimits reads the limits of the queue as they are now, and judges the batch by them. They matter to it only before its POST.
func (d *drive) readLimits(ctx context.Context) (step, error) {
	d.bounds, d.spending = events.Limits{}, spending{}
	if d.config.Policy == nil || !unsent(d.batch.State) || d.job.CancelWanted != nil {
		return step{}, nil
	}
	policy, err := d.config.Policy(ctx, d.batch.Queue)
	if errors.Is(err, queues.ErrRecord) { // what it may spend nobody can say
		return d.failed(ctx, "bad_policy", err)
	}
	if err != nil {
		return step{}, fmt.Errorf("read limits: %w", err)
	}
	d.bounds = policy.Budget
	if c := d.spendingCase(); c.Limited() {
		if err := d.startLedger(ctx); err != nil {
			return step{}, err
		}
	}
	d.judgeSpending()
	return step{}, nil
}

// judgeSpending holds what the batch may take against the limits.
func (d *drive) judgeSpending() {
	c := d.spendingCase()
	d.spending = spending{limited: c.Limited(), estimate: d.estimate()}
	if d.spending.limited && d.spending.estimate != nil {
		d.spending.verdict = budget.Check(&c)
	}
}

// estimate is what the batch's rows may take, as far as it is known.
func (d *drive) estimate() *events.Estimate { return cmp.Or(d.memory.estimate, d.batch.Estimate) }

func (d *drive) spendingCase() budget.Case {
	return caseOf(&d.batch.Batch, &d.job.Job, &d.budget.Budget, d.bounds, d.config.Prices, d.estimate())
}

// caseOf is a batch's case now. Without an estimate it is not yet to be judged. It reads the clock.
func caseOf(
	b *events.Batch, j *events.Job, queue *events.Budget, bounds events.Limits, table *prices.Table, guess *events.Estimate,
) budget.Case {
	c := budget.Case{
		Job: j.Policy.Budget, Queue: bounds, Allowed: j.Allowed, JobSpent: j.Spending, Ledger: queue.Spending, Own: b.Reserved,
		Day: budget.Day(time.Now()),
	}
	if guess != nil {
		c.Need = needOf(b, guess, table)
	}
	return c
}

// needOf is an estimate and what it costs, where the table knows that.
func needOf(b *events.Batch, guess *events.Estimate, table *prices.Table) budget.Need {
	tokens := events.Usage{PromptTokens: guess.InputTokens, CompletionTokens: guess.OutputTokens}
	need := budget.Need{Amount: events.Amount{Tokens: int64(events.Money(guess.InputTokens).Plus(events.Money(guess.OutputTokens)))}}
	if cost := table.Cost(b.Model, b.Window, &tokens); cost != nil {
		need.Money, need.Currency, need.Basis = cost.Money(), cost.Currency, cost.Basis
	}
	return need
}

// holdSpending holds the batch until its limits allow it, with the figures.
func (d *drive) holdSpending(ctx context.Context) (step, error) {
	v, guess := d.spending.verdict, d.spending.estimate
	code, message := events.HoldBudget, shortageText(v.Shortage)
	if v.Unpriced {
		code, message = events.HoldUnpriced, d.unpricedText()
	}
	d.log.Warn().Str("code", code).Str("reason", message).Msg("batch is not sent")
	return step{done: true}, d.note(ctx, func(b *events.Batch, at time.Time) {
		setHold(b, code, message, at)
		b.Estimate, b.Shortage = guess, v.Shortage
	}, events.BatchHeld)
}

func shortageText(s *events.Shortage) string {
	if s == nil {
		return ""
	}
	limit := "budget." + s.Limit
	switch {
	case s.Day != "":
		limit += " of " + s.Day + " (UTC)"
	case s.Limit == "allowed_money", s.Limit == "allowed_tokens":
		limit = "what a person allowed the job"
	}
	return fmt.Sprintf("%s is %s %s: %s spent, %s reserved for what runs, and this batch may need %s", limit, s.Allowed, s.Unit, s.Spent, s.Reserved, s.Needed)
}

func (d *drive) unpricedText() string {
	if ledger := d.budget.Spending; ledger != nil && ledger.Currency != "" && d.config.Prices.Currency() != "" && ledger.Currency != d.config.Prices.Currency() {
		return fmt.Sprintf("there is a limit of money, and the price table is in %s while the queue has spent %s", d.config.Prices.Currency(), ledger.Currency)
	}
	return fmt.Sprintf("there is a limit of money, and the submitter's price table has no price of model %q in the window %s", d.batch.Model, d.batch.Window)
}
