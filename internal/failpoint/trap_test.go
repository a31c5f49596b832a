package failpoint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/failpoint"
)

func TestATrapIsSprungOnceAtItsPassage(t *testing.T) {
	t.Parallel()
	trap, err := failpoint.ParseTrap("collector.commit.cursor:after:2:stop")
	if err != nil || trap.String() != "collector.commit.cursor:after:2:stop" {
		t.Fatal(trap, err)
	}
	var (
		trace strings.Builder
		acts  []string
	)
	l := failpoint.NewListener(trap, &trace, func(a failpoint.Action) { acts = append(acts, string(a)) }, func(p failpoint.Point) { t.Error(p) })
	for range 3 {
		l.Pass(failpoint.Passage{Point: "collector.commit.cursor", Moment: failpoint.Before})
		l.Pass(failpoint.Passage{Point: "collector.commit.cursor", Moment: failpoint.After})
		acts = append(acts, "-")
	}
	if got := strings.Join(acts, " "); got != "- stop - -" {
		t.Errorf("the trap acts %q", got)
	}
	if want := strings.Repeat("collector.commit.cursor:before\ncollector.commit.cursor:after\n", 3); trace.String() != want {
		t.Errorf("the trace is %q", trace.String())
	}
}

func TestAPointThatTheTableDoesNotHaveIsToldOf(t *testing.T) {
	t.Parallel()
	var aliens []failpoint.Point
	l := failpoint.NewListener(failpoint.Trap{}, nil, nil, func(p failpoint.Point) { aliens = append(aliens, p) })
	l.Pass(failpoint.Passage{Point: "collector.publish.other", Moment: failpoint.Before})
	if len(aliens) != 1 || aliens[0] != "collector.publish.other" {
		t.Errorf("told of %v", aliens)
	}
}

func TestOnlyATrapThatCanBeSprungIsTaken(t *testing.T) {
	t.Parallel()
	if trap, err := failpoint.ParseTrap(""); err != nil || trap != (failpoint.Trap{}) {
		t.Error(trap, err)
	}
	if trap, err := failpoint.ParseTrap("ingest.ack.requests:before:1"); err != nil || trap.Action != failpoint.Kill {
		t.Error(trap, err)
	}
	for _, text := range []string{
		"ingest.ack.requests", "ingest.ack.requests:before", "ingest.ack.requests:during:1", "ingest.ack.requests:before:0",
		"ingest.ack.requests:before:x", "ingest.ack.requests:before:1:burn", "ingest.ack.nobody:before:1", "ingest.ack.requests:before:1:kill:2",
	} {
		if trap, err := failpoint.ParseTrap(text); !errors.Is(err, failpoint.ErrTrap) {
			t.Errorf("%q is taken for %v, %v", text, trap, err)
		}
	}
}
