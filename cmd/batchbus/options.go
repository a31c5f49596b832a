package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
)

// optionFlags are fields of the policy that a job has in the place of its queue's.
type optionFlags struct {
	RetryOn       *string  `placeholder:"WHAT" help:"Which rows get another try, comma separated: failed (with a passing error), missing_result, expired, cancelled. Default: the queue's, missing_result and expired."`
	RetryAttempts *int     `placeholder:"N" help:"How often a row is sent in all, 1 to 10. Default: the queue's, 2."`
	Set           []string `sep:"none" placeholder:"FIELD=VALUE" help:"Field of the policy that is to differ from the queue's, such as body.temperature=0, which every row gets in its body, or priority=10. May be repeated."`
	Key           string   `placeholder:"NAME" help:"Name of the API key. Default: the queue's, default."`
}

// fields are what the flags set, as the control API takes it; nil when that is nothing. All faults are reported.
func (f *optionFlags) fields() (json.RawMessage, error) {
	fields := make(map[string]any)
	var faults []error
	set := func(name, text string) { faults = append(faults, queues.Set(fields, name, text)) }
	if f.RetryOn != nil {
		set("retry.on", *f.RetryOn)
	}
	if f.RetryAttempts != nil {
		set("retry.max_attempts", strconv.Itoa(*f.RetryAttempts))
	}
	for _, member := range f.Set {
		name, value, found := strings.Cut(member, "=")
		if !found {
			faults = append(faults, fmt.Errorf("--set: %.80q is not FIELD=VALUE", member))
			continue
		}
		faults = append(faults, flagError("--set", queues.Set(fields, name, value)))
	}
	if f.Key != "" {
		set("key", f.Key)
	}
	if err := errors.Join(faults...); err != nil || len(fields) == 0 {
		return nil, err
	}
	text, err := json.Marshal(fields)
	policy, overlayErr := queues.Overlay(events.DefaultPolicy(), text)
	if err := errors.Join(err, overlayErr); err != nil {
		return nil, err
	}
	if _, named := fields["windows"]; !named && !slices.Contains(policy.Windows, policy.Window) {
		policy.Windows = append(policy.Windows, policy.Window) // which ones there are is the queue's to say
	}
	return text, flagged(queues.Check(&policy))
}

// flagged names the flags of fields that are wrong.
func flagged(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.NewReplacer("retry.on: ", "--retry-on: ", "retry.max_attempts: ", "--retry-attempts: ", "key: ", "--key: ").Replace(fmt.Sprint(err)))
}
