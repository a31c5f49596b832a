package submit

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func aBatch(revision uint64) *jobs.Batch { return &jobs.Batch{Revision: revision} }

func refused(status int, text string) error {
	class := doubleword.Permanent
	switch {
	case status == 429:
		class = doubleword.Retryable
	case status == 404, status >= 500:
		class = doubleword.Ambiguous
	}
	return fmt.Errorf("wrapped: %w", &doubleword.Error{Route: "POST /batches", Status: status, Text: text, Class: class})
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		create bool
		before int
		want   verdict
	}{
		"a row is refused":               {err: refused(400, "Line 2: Invalid"), want: verdict{cure: cureRejectRow, line: 2}},
		"a row is refused at the create": {err: refused(422, "Line 3 (custom_id 'x'): no"), create: true, want: verdict{cure: cureRejectRow, line: 3}},
		"a row that is not there":        {err: refused(400, "Line 4: Invalid"), want: verdict{cure: cureHold, code: events.HoldRefused}},
		"the model is refused":           {err: refused(403, "Line 1: Model 'm' has not been configured"), want: verdict{cure: cureRejectAll}},
		"the model takes no batches":     {err: refused(400, "m does not support batch processing"), create: true, want: verdict{cure: cureHold, code: events.HoldGroupsUnsupported}},
		"too many bytes":                 {err: refused(413, "File too large"), want: verdict{cure: cureSplit}},
		"too many rows":                  {err: refused(400, "File contains 3 requests, at most 2"), want: verdict{cure: cureSplit}},
		"a fault without a line":         {err: refused(400, "odd"), want: verdict{cure: cureSearch, code: events.HoldRefused}},
		"a 422 without a line":           {err: refused(422, "odd"), want: verdict{cure: cureSearch, code: events.HoldRefused}},
		"a missing role at the upload":   {err: refused(403, "Insufficient permissions"), want: verdict{cure: cureHold, code: events.HoldRefused}},
		"a create without a line":        {err: refused(400, "odd"), create: true, want: verdict{cure: cureHold, code: events.HoldRefused}},
		"no credit":                      {err: refused(402, "Insufficient balance"), create: true, want: verdict{cure: cureHoldQueue, code: events.HoldCredit}},
		"no upload slot":                 {err: refused(429, simulator.TextUploadSlots), want: verdict{cure: cureRetry, why: "upload_slots", delay: time.Minute}},
		"no capacity":                    {err: refused(429, simulator.TextCapacity), create: true, want: verdict{cure: cureRetry, why: "capacity", delay: 5 * time.Minute}},
		"an unverified account's quota":  {err: refused(429, simulator.TextUnverified), create: true, want: verdict{cure: cureRetry, why: "unverified_quota", delay: 30 * time.Minute}},
		"another 429":                    {err: refused(429, "slow down"), create: true, want: verdict{cure: cureRetry, why: "too_many_requests", delay: time.Minute}},
		"a missing role":                 {err: refused(403, "Insufficient permissions"), create: true, want: verdict{cure: cureHold, code: events.HoldRefused}},
		"a key is refused once":          {err: refused(401, "no"), create: true, want: verdict{cure: cureRetry, why: "key_refused", delay: 5 * time.Second}},
		"a key is refused for long":      {err: refused(401, "no"), create: true, before: keyRefusals, want: verdict{cure: cureHold, code: events.HoldRefused}},
		"a 404 of the create":            {err: refused(404, "File not found"), create: true, want: verdict{cure: cureUnknown}},
		"a 500 of the create":            {err: refused(500, "Internal server error"), create: true, want: verdict{cure: cureUnknown}},
		"a broken connection":            {err: io.ErrUnexpectedEOF, create: true, want: verdict{cure: cureUnknown}},
		"no connection":                  {err: &net.OpError{Op: "dial", Err: errors.New("refused")}, create: true, want: verdict{cure: cureRetry, why: "create_not_sent", delay: 5 * time.Second}},
		"a broken upload":                {err: io.ErrUnexpectedEOF, before: 1, want: verdict{cure: cureRetry, why: "upload_failed", delay: 10 * time.Second}},
		"a long broken upload":           {err: io.ErrUnexpectedEOF, before: 1000, want: verdict{cure: cureRetry, why: "upload_failed", delay: longestRetry}},
		"rows that are gone":             {err: fmt.Errorf("x: %w", manifest.ErrRowsGone), want: verdict{cure: cureHold, code: events.HoldRowsOlder}},
		"other rows":                     {err: fmt.Errorf("x: %w", errOtherRows), want: verdict{cure: cureHold, code: events.HoldRowsOlder}},
		"a manifest that differs":        {err: fmt.Errorf("x: %w", jetstore.ErrDigest), want: verdict{cure: cureHold, code: events.HoldManifestMissing}},
		"a manifest that may come":       {err: jetstore.ErrObjectMissing, want: verdict{cure: cureRetry, why: "upload_failed", delay: 5 * time.Second}},
		"a manifest that stays away":     {err: jetstore.ErrObjectMissing, before: objectMisses, want: verdict{cure: cureHold, code: events.HoldManifestMissing}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge := judgeUpload
			if c.create {
				judge = judgeCreate
			}
			if got := judge(c.err, 3, c.before); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestAFileOfOneRowThatIsTooLargeIsThatRowsFault(t *testing.T) {
	t.Parallel()
	if got := judgeUpload(refused(413, "too large"), 1, 0); got.cure != cureRejectAll {
		t.Errorf("got %+v", got)
	}
}

func TestAFaultWithoutALineOfAFileOfOneRowIsSearchedToo(t *testing.T) {
	t.Parallel()
	if got, want := judgeUpload(refused(400, "odd"), 1, 0), (verdict{cure: cureSearch, code: events.HoldRefused}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	got := cut(strings.Repeat("é", 600) + "x")
	if len(got) != maxErrorText || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
	}
	if got = cut("x" + strings.Repeat("é", 600)); len(got) != maxErrorText-1 || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
	}
}
