package keep

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestTheDefaultPolicyKeepsRowsForAWeekAfterCompletion(t *testing.T) {
	t.Parallel()
	done := time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)
	for state, wants := range map[events.JobState][2]bool{
		events.JobCompleted: {false, true}, events.JobPlanned: {false, false}, events.JobOpen: {false, false},
	} {
		j := &events.Job{State: state, SinceAt: done, Policy: events.DefaultPolicy()}
		week := done.Add(7 * 24 * time.Hour)
		if before, after := isOver(j, week.Add(-1)), isOver(j, week); before != wants[0] || after != wants[1] {
			t.Errorf("%s: before %t, after %t, want %v", state, before, after, wants)
		}
	}
}
