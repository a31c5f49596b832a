package events_test

import (
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestARowIsTriedAgainOnlyForWhatThePolicyNames(t *testing.T) {
	t.Parallel()
	all := events.Retry{
		On:          []string{events.RetryFailed, events.RetryMissingResult, events.RetryExpired, events.RetryCancelled},
		MaxAttempts: 3,
	}
	passing := &events.Error{Code: "server_error", Retryable: true}
	permanent := &events.Error{Code: "unsupported_parameter"}
	missing := &events.Error{Code: events.CodeMissingResult, Retryable: true}
	expired := &events.Error{Code: events.CodeExpired, Retryable: true}
	for name, test := range map[string]struct {
		retry   events.Retry
		outcome events.Outcome
		reason  *events.Error
		attempt int
		want    bool
	}{
		"a retryable failure":                   {all, events.Failed, passing, 1, true},
		"its last attempt but one":              {all, events.Failed, passing, 2, true},
		"its last attempt":                      {all, events.Failed, passing, 3, false},
		"a permanent failure":                   {all, events.Failed, permanent, 1, false},
		"a missing row":                         {all, events.Failed, missing, 1, true},
		"an expired row":                        {all, events.Expired, expired, 1, true},
		"a row cancelled at the provider":       {all, events.Cancelled, &events.Error{Retryable: true}, 1, true},
		"an answered row":                       {all, events.Succeeded, nil, 1, false},
		"a refused row":                         {all, events.Rejected, &events.Error{Retryable: true}, 1, false},
		"no policy":                             {events.Retry{}, events.Failed, passing, 1, false},
		"by default, a missing row":             {events.DefaultRetry(), events.Failed, missing, 1, true},
		"by default, a missing row again":       {events.DefaultRetry(), events.Failed, missing, 2, false},
		"by default, an expired row":            {events.DefaultRetry(), events.Expired, expired, 1, true},
		"by default, a failure":                 {events.DefaultRetry(), events.Failed, passing, 1, false},
		"by default, a row cancelled elsewhere": {events.DefaultRetry(), events.Cancelled, &events.Error{Retryable: true}, 1, false},
	} {
		if got := test.retry.Wants(test.outcome, test.reason, test.attempt); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
