package doubleword_test

import (
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

func TestBatchState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                                string
		status                              string
		total, completed, failed            int
		alive, terminal, settled, adoptable bool
	}{
		{"validating is alive", "validating", 5, 0, 0, true, false, false, true},
		{"in_progress is alive", "in_progress", 5, 2, 1, true, false, false, true},
		{"finalizing with all rows counted is still being written", "finalizing", 5, 4, 1, true, false, true, true},
		{"an unknown status is alive", "paused_by_moon", 5, 0, 0, true, false, false, true},
		{"no status is alive", "", 0, 0, 0, true, false, false, true},
		{"completed with every row counted is terminal", "completed", 5, 4, 1, false, true, true, true},
		{"completed with rows open is a stale picture", "completed", 5, 3, 1, false, false, false, true},
		{"completed without counts is taken at its word", "completed", 0, 0, 0, false, true, false, false},
		{"failed with every row failed is a real answer", "failed", 5, 0, 5, false, true, true, true},
		{"failed before it had rows is none", "failed", 5, 0, 0, false, true, false, false},
		{"failed without any row is none", "failed", 0, 0, 0, false, true, false, false},
		{"cancelled keeps its completed rows", "cancelled", 5, 2, 0, false, true, false, true},
		{"cancelled with nothing done is not worth following", "cancelled", 5, 0, 3, false, true, false, false},
		{"cancelling counts as cancelled", "cancelling", 5, 0, 0, false, true, false, false},
		{"expired is accepted", "expired", 5, 1, 0, false, true, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := doubleword.Batch{Status: c.status, Counts: doubleword.Counts{Total: c.total, Completed: c.completed, Failed: c.failed}}
			if b.Alive() != c.alive || b.Terminal() != c.terminal || b.Settled() != c.settled || b.Adoptable() != c.adoptable {
				t.Errorf("alive %v terminal %v settled %v adoptable %v", b.Alive(), b.Terminal(), b.Settled(), b.Adoptable())
			}
		})
	}
}
