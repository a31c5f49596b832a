package submit

import (
	"fmt"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// whyQuota is what a batch waits for when an unverified account has submitted too many rows.
const whyQuota = "unverified_quota"

// judgeQuotaWait judges how long a batch goes on waiting for the quota of an unverified account. It rolls over the whole completion window
// (doubleword-contract.md 1.4), so the pauses grow with the time already waited, and after a window everything that was submitted before
// counts no more: what is refused then, or is more than the quota itself, is for a person. It is pure.
func judgeQuotaWait(v verdict, cause error, b *events.Batch, now time.Time) verdict {
	if quota, ok := doubleword.UnverifiedQuotaOf(cause); ok && quota < b.Rows {
		return verdict{cure: cureHold, code: events.HoldUnverifiedQuota, why: fmt.Sprintf("%d rows and a quota of %d", b.Rows, quota)}
	}
	if b.QuotaSince == nil {
		return v
	}
	waited, total := now.Sub(*b.QuotaSince), windowOf(b)
	if waited >= total {
		return verdict{cure: cureHold, code: events.HoldUnverifiedQuota}
	}
	v.delay = max(v.delay, min(waited, longestQuota))
	v.delay = max(min(v.delay, total-waited), firstRetryWait)
	return v
}

// windowOf is the length of a batch's completion window; a day where the provider's word for it is no duration.
func windowOf(b *events.Batch) time.Duration {
	if window, err := time.ParseDuration(b.Window); err == nil && window > 0 {
		return window
	}
	return 24 * time.Hour
}
