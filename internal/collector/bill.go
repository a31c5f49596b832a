package collector

import (
	"context"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// billInterval is the pause between two questions for a bill that is not whole yet.
const billInterval = 15 * time.Second

// bill asks what the provider billed for the batch, which goes into its settlement. The provider gathers that some time after the rows have
// ended, so a bill over fewer rows than completed is waited for, visibly and for BillTimeout at most; whoever waited for rows before, or must not
// keep a follow-up waiting, takes what there is. A provider that cannot say leaves the batch without a bill, at once. It returns how long to
// wait; 0 when the batch can be settled.
func (r *run) bill(ctx context.Context) (wait time.Duration, billed *events.Money, err error) {
	completed := int64(r.b.Counts.Completed)
	if completed == 0 {
		return 0, nil, nil
	}
	said, err := r.provider.Analytics(ctx, r.b.ProviderBatchID)
	if ctx.Err() != nil {
		return 0, nil, err
	}
	billed = amountOf(said)
	if err != nil && doubleword.ClassOf(err) == doubleword.Permanent || err == nil && said.Requests >= completed {
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
	return wait, nil, r.s.tell(ctx, r.b, whyBill, &until, err)
}

// amountOf is the amount of a bill; nil of one over nothing and of one without an amount. It is pure.
func amountOf(a doubleword.Analytics) *events.Money {
	amount, err := events.ParseMoney(a.Cost)
	if a.Requests == 0 || err != nil {
		return nil
	}
	return &amount
}
