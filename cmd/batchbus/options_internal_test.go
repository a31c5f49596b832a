package main

import (
	"strings"
	"testing"
)

func TestAFaultyOptionIsRefusedWhateverStandsBesideIt(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"budget.job_tokens=5k", "budget.job_tokns=5", "temperature=0", "nosuch", "body.=", "priority=abc"} {
		for name, beside := range map[string][]string{"alone": nil, "beside another": {"nosuch.either=1"}, "beside a good one": {"priority=1"}} {
			options := optionFlags{Set: append([]string{bad}, beside...)}
			if fields, err := options.fields(); err == nil || fields != nil || !strings.Contains(err.Error(), strings.Split(bad, "=")[0]) {
				t.Errorf("%s %s: %s, %v", bad, name, fields, err)
			}
		}
	}
	if fields, err := (&optionFlags{}).fields(); fields != nil || err != nil {
		t.Errorf("nothing is set: %s, %v", fields, err)
	}
}
