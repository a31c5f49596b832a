package main

import (
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestRowsThatThePublisherSaidAndNobodyHasAreNoSuccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		expected, letters int
		cancelled         bool
		code              int
		warned            bool
	}{
		"as many as said":            {expected: 2, code: app.ExitOK},
		"one is nowhere":             {expected: 3, code: app.ExitRows, warned: true},
		"one is a dead letter":       {expected: 3, letters: 1, code: app.ExitRows},
		"a cancel cuts off the rest": {expected: 3, cancelled: true, code: app.ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &view{}
			v.job.ExpectedRows = &c.expected
			if c.cancelled {
				v.job.CancelWanted = new(time.Now())
			}
			sum := summaryOf(v, events.Totals{Rows: 2, Succeeded: 2}, c.letters, time.Now())
			var stderr strings.Builder
			if err := sum.report(app.Env{Stderr: &stderr}, false); err != nil {
				t.Fatal(err)
			}
			if warned := strings.Contains(stderr.String(), "warning: the publisher said 3 rows, 1 of them"); sum.exitCode() != c.code || warned != c.warned {
				t.Errorf("exit code %d, want %d; stderr %q", sum.exitCode(), c.code, stderr.String())
			}
		})
	}
}

func TestSetupRefusesAStoreThatIsTooSmall(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int64{1000, -1, app.MinStore - 1} {
		code, err := (&setupCommand{MaxStore: bytes}).run(t.Context(), app.Env{Stderr: &strings.Builder{}})
		if code != app.ExitFault || err == nil || !strings.Contains(err.Error(), "--max-store: ") {
			t.Errorf("%d bytes: exit code %d, %v", bytes, code, err)
		}
	}
}

func TestAJobIsNamedWithItsQueueWhereACommandNeedsIt(t *testing.T) {
	t.Parallel()
	if got := named("default", "j") + ", " + named("night", "j"); got != "j, j --queue night" {
		t.Error(got)
	}
}
