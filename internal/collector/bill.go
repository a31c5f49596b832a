package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// billInterval is the pause between two questions for a bill that is not whole yet.
const billInterval = 15 * time.Second

// bill asks what the provider billed for the batch, which goes into its settlement. The provider gathers that some time after the rows have
// ended, so a bill over fewer rows than completed is waited for, visibly and for BillTimeout at most; whoever waited for rows before, or must not
// keep a follow-up waiting, takes what there is. A provider that cannot say leaves the batch without a bill, at once; one whose bill cannot be true
// leaves it without one too, and the settled batch says why. It returns how long to wait; 0 when the batch can be settled.
func (r *run) bill(ctx context.Context) (wait time.Duration, billed said, err error) {
	completed := max(int64(r.b.Counts.Completed), int64(r.cursor.Totals.Succeeded))
	if completed == 0 {
		return 0, said{}, nil
	}
	answer, err := r.provider.Analytics(ctx, r.b.ProviderBatchID)
	if ctx.Err() != nil {
		return 0, said{}, err
	}
	if billed = amountOf(answer, cmp.Or(r.s.cfg.Prices.Currency(), defaultCurrency)); errors.Is(err, doubleword.ErrBadAnswer) {
		billed.unusable = unusableBill("it is not the promised JSON")
	}
	if err != nil && doubleword.ClassOf(err) == doubleword.Permanent || err == nil && answer.Requests >= completed {
		return 0, billed, nil
	}
	if _, waited := deadline(r.b, whyMissing, whyOutage); waited || len(r.again) > 0 {
		return 0, billed, nil
	}
	until, begun := deadline(r.b, whyBill)
	if !begun {
		until = time.Now().UTC().Add(r.s.cfg.BillTimeout)
	}
	if wait = min(time.Until(until), billInterval); wait <= 0 {
		return 0, billed, nil
	}
	return wait, said{}, r.s.tell(ctx, r.b, whyBill, &until, err)
}

// defaultCurrency is what bills are in where no price says otherwise: the provider bills in dollars.
const defaultCurrency = "USD"

// said is what came of a bill: an amount, a reason not to believe it, or neither.
type said struct {
	amount   *events.Money
	unusable string
}

func unusableBill(reason string) string {
	return "the provider's bill is unusable (bill_unusable): " + cut(reason)
}

// shownAmount bounds what is shown of an amount that cannot be one.
const shownAmount = 40

// amountOf is the amount of a bill, which must be in the given currency; nothing of one over nothing and of one without an amount. It is pure.
func amountOf(a doubleword.Analytics, currency string) said {
	amount, err := events.ParseMoney(a.Cost)
	switch {
	case a.Requests < 0:
		return said{unusable: unusableBill(fmt.Sprintf("it is over %d rows", a.Requests))}
	case a.Requests == 0 || a.Cost == "":
		return said{}
	case err != nil:
		return said{unusable: unusableBill(fmt.Sprintf("%q %s", cutAt(a.Cost, shownAmount), events.ErrMoney))}
	case amount < 0:
		return said{unusable: unusableBill("its amount is negative: " + amount.String())}
	case a.Currency != "" && !strings.EqualFold(a.Currency, currency):
		return said{unusable: unusableBill(fmt.Sprintf("it is in %q, and costs here are in %s", cutAt(a.Currency, shownAmount), currency))}
	}
	return said{amount: &amount}
}
