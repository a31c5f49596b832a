package retry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/batchbus/batchbus/pkg/events"
)

// Selection says which rows of a job are meant.
type Selection struct {
	// Only are codes of errors. Empty: what may pass, and All does not matter otherwise.
	Only []string
	// All means every row that failed, expired or was cancelled.
	All bool
	// Wished says that the job itself was cancelled: its cancelled rows are meant by name only.
	Wished bool
}

// Takes reports whether a row with this result is meant. It is pure.
func (s *Selection) Takes(r *events.Result) bool {
	if !Unanswered(r.Outcome) {
		return false
	}
	switch {
	case s.All:
		return true
	case len(s.Only) > 0:
		return r.Error != nil && slices.Contains(s.Only, r.Error.Code)
	case r.Outcome == events.Cancelled:
		return !s.Wished
	default:
		return r.Outcome == events.Expired || r.Error != nil && r.Error.Retryable
	}
}

// Unanswered are the outcomes of rows that went to the provider, or were to, and have no answer. A rejected row must be corrected first.
func Unanswered(o events.Outcome) bool {
	return o == events.Failed || o == events.Expired || o == events.Cancelled
}

// Digest tells what is asked for from everything else that can be asked for of the job: the same selection, in whatever order, under the
// same options. It is 64 hexadecimal characters.
func (s *Selection) Digest(queue, job string, options []byte) string {
	only := slices.Clone(s.Only)
	slices.Sort(only)
	sum := sha256.Sum256(fmt.Appendf(nil, "retry %s/%s all %t only %q options %s\n", queue, job, s.All, slices.Compact(only), options))
	return hex.EncodeToString(sum[:])
}
