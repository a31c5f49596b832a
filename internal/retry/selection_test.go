package retry_test

import (
	"testing"

	"github.com/batchbus/batchbus/internal/retry"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestOnlyRowsWithoutAnAnswerAreMeantAndByDefaultThoseThatMayPass(t *testing.T) {
	t.Parallel()
	passing := &events.Error{Code: "server_error", Retryable: true}
	permanent := &events.Error{Code: "unsupported_parameter"}
	for name, c := range map[string]struct {
		selection retry.Selection
		outcome   events.Outcome
		reason    *events.Error
		want      bool
	}{
		"an answer":                          {retry.Selection{All: true}, events.Succeeded, nil, false},
		"a refused row":                      {retry.Selection{All: true, Only: []string{"server_error"}}, events.Rejected, passing, false},
		"a passing failure":                  {retry.Selection{}, events.Failed, passing, true},
		"a permanent failure":                {retry.Selection{}, events.Failed, permanent, false},
		"a failure that says nothing":        {retry.Selection{}, events.Failed, nil, false},
		"a permanent failure, of all":        {retry.Selection{All: true}, events.Failed, permanent, true},
		"a permanent failure, by its code":   {retry.Selection{Only: []string{"x", "unsupported_parameter"}}, events.Failed, permanent, true},
		"a passing failure of another code":  {retry.Selection{Only: []string{"x"}}, events.Failed, passing, false},
		"an expired row":                     {retry.Selection{}, events.Expired, nil, true},
		"a row cancelled at the provider":    {retry.Selection{}, events.Cancelled, passing, true},
		"a row of a cancelled job":           {retry.Selection{Wished: true}, events.Cancelled, passing, false},
		"a row of a cancelled job, of all":   {retry.Selection{Wished: true, All: true}, events.Cancelled, passing, true},
		"an expired row of a cancelled job":  {retry.Selection{Wished: true}, events.Expired, passing, true},
		"a row of a cancelled job, by name":  {retry.Selection{Wished: true, Only: []string{"server_error"}}, events.Cancelled, passing, true},
		"an expired row, by another's code":  {retry.Selection{Only: []string{"server_error"}}, events.Expired, &events.Error{Code: events.CodeExpired}, false},
		"an answered row by the code of one": {retry.Selection{Only: []string{"server_error"}}, events.Succeeded, passing, false},
	} {
		if got := c.selection.Takes(&events.Result{Outcome: c.outcome, Error: c.reason}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestADigestIsOfWhatIsAskedForAndNotOfItsOrder(t *testing.T) {
	t.Parallel()
	digest := func(job string, options string, only ...string) string {
		s := retry.Selection{Only: only}
		return s.Digest("q", job, []byte(options))
	}
	if digest("j", "", "a", "b") != digest("j", "", "b", "a", "b") {
		t.Error("the order of codes matters")
	}
	all := retry.Selection{All: true}
	seen := map[string]bool{all.Digest("q", "j", nil): true}
	for _, d := range []string{digest("j", ""), digest("k", ""), digest("j", "{}"), digest("j", "", "a"), digest("j", "", "a", "b"), digest("j", "", "a b")} {
		if seen[d] || len(d) != 64 {
			t.Errorf("two have the digest %s", d)
		}
		seen[d] = true
	}
}
