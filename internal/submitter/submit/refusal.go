package submit

import (
	"errors"
	"net/http"
	"time"

	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Waits after a refusal that time cures. The texts and what they mean are in doubleword-contract.md 1.4.
const (
	firstRetryWait = 5 * time.Second
	longestRetry   = 5 * time.Minute
	slotWait       = time.Minute      // too many uploads at once: the provider's own Retry-After
	capacityWait   = 5 * time.Minute  // other batches of the model must end first
	quotaWait      = 30 * time.Minute // rolls over the whole completion window: a minute never helps
	longestQuota   = 4 * time.Hour
	longestWait    = time.Hour
	keyRefusals    = 6  // 401 may be the provider's own fault for a while: about 5 minutes
	objectMisses   = 8  // an absent object may come: about 10 minutes
	maxLineRefused = 20 // rows refused one by one in one line of follow-ups (design.md 5.4)
)

// cure is what a failed upload or create calls for.
type cure int

const (
	cureRetry     cure = iota // nothing was done and nothing paid: again after verdict.delay
	cureUnknown               // it may have been done: find out
	cureRejectRow             // verdict.line is at fault
	cureRejectAll             // every row is at fault
	cureSplit                 // too large for one file
	cureSearch                // some row may be at fault: find it; where that cannot be, hold with verdict.code
	cureHold                  // a person has to act: verdict.code
	cureHoldQueue             // a person has to act, and nothing more of the queue is to be sent with this key until then: verdict.code
)

// verdict is a judged failure.
type verdict struct {
	cure  cure
	why   string
	delay time.Duration
	line  int
	code  string
}

// judgeUpload judges a failed upload, which never costs anything. failures counts those before it in a row. It is pure.
func judgeUpload(err error, rows, refusals int) verdict {
	switch {
	case errors.Is(err, manifest.ErrRowsGone), errors.Is(err, errOtherRows):
		return verdict{cure: cureHold, code: events.HoldRowsOlder}
	case errors.Is(err, manifest.ErrCorrupt), errors.Is(err, jetstore.ErrDigest):
		return verdict{cure: cureHold, code: events.HoldManifestMissing}
	case errors.Is(err, jetstore.ErrObjectMissing) && refusals >= objectMisses:
		return verdict{cure: cureHold, code: events.HoldManifestMissing}
	case doubleword.RefusalOf(err) == doubleword.NotRefused && doubleword.ClassOf(err) == doubleword.Permanent:
		return verdict{cure: cureHold, code: events.HoldRefused}
	case doubleword.RefusalOf(err) == doubleword.NotRefused:
		return verdict{cure: cureRetry, why: "upload_failed", delay: retryDelay(refusals)}
	case namesNothing(err):
		return verdict{cure: cureSearch, code: events.HoldRefused}
	}
	return judgeRefusal(err, rows, refusals)
}

// judgeCreate judges a failed POST. Only what proves that no batch was made is anything but unknown. A refusal that names no line is about
// the account, the window or the url: rows are judged at the upload, and again with their line (contract, section 4). It is pure.
func judgeCreate(err error, rows, refusals int) verdict {
	switch doubleword.ClassOf(err) {
	case doubleword.Ambiguous:
		return verdict{cure: cureUnknown}
	case doubleword.Permanent, doubleword.Retryable:
		if doubleword.RefusalOf(err) == doubleword.NotRefused {
			return verdict{cure: cureRetry, why: "create_not_sent", delay: retryDelay(refusals)}
		}
		return judgeRefusal(err, rows, refusals)
	default:
		return verdict{cure: cureUnknown}
	}
}

// judgeRefusal judges a definite refusal, which means the same from both calls.
func judgeRefusal(err error, rows, refusals int) verdict {
	line, named := doubleword.LineOf(err)
	switch refusal := doubleword.RefusalOf(err); refusal {
	case doubleword.RefusedLine:
		if line > rows {
			return verdict{cure: cureHold, code: events.HoldRefused}
		}
		return verdict{cure: cureRejectRow, line: line}
	case doubleword.RefusedModel:
		if named {
			return verdict{cure: cureRejectAll}
		}
		return verdict{cure: cureHold, code: events.HoldGroupsUnsupported}
	case doubleword.RefusedTooLarge:
		if rows == 1 {
			return verdict{cure: cureRejectAll}
		}
		return verdict{cure: cureSplit}
	case doubleword.RefusedCredit:
		return verdict{cure: cureHoldQueue, code: events.HoldCredit}
	case doubleword.RefusedKey:
		if refusals >= keyRefusals {
			return verdict{cure: cureHold, code: events.HoldRefused}
		}
		return verdict{cure: cureRetry, why: "key_refused", delay: retryDelay(refusals)}
	default:
		return judgeQuota(err, refusal)
	}
}

// judgeQuota tells the kinds of 429 apart; what is none of them is a refusal for a person.
func judgeQuota(err error, refusal doubleword.Refusal) verdict {
	var asked time.Duration
	e, ok := errors.AsType[*doubleword.Error](err)
	if ok {
		asked = e.RetryAfter
	}
	switch {
	case refusal == doubleword.RefusedUploadSlots:
		return verdict{cure: cureRetry, why: whySlots, delay: bounded(max(asked, slotWait))}
	case refusal == doubleword.RefusedCapacity:
		return verdict{cure: cureRetry, why: whyCapacity, delay: bounded(max(asked, capacityWait))}
	case refusal == doubleword.RefusedUnverifiedQuota:
		return verdict{cure: cureRetry, why: whyQuota, delay: bounded(max(asked, quotaWait))}
	case ok && e.Status == http.StatusTooManyRequests:
		return verdict{cure: cureRetry, why: whyTooMany, delay: bounded(max(asked, slotWait))}
	}
	return verdict{cure: cureHold, code: events.HoldRefused}
}

func bounded(delay time.Duration) time.Duration { return min(delay, longestWait) }

// retryDelay doubles with the failures before it, from 5 s to 5 min.
func retryDelay(failures int) time.Duration {
	return min(firstRetryWait<<min(failures, 10), longestRetry)
}
