package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/ingest"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// What follows from one message can take many times as long as nothing may be stored at all. Were the time that of the whole, each try would come
// as far as the one before, and the job would never end.
func TestAMessageOfVeryManyBadLinesIsStoredHoweverLongItTakes(t *testing.T) {
	t.Parallel()
	const bad = 30_000
	r := newRig(t, jetstoretest.Start(t))
	r.publish("default.poison", strings.Repeat("1\n", bad)+row("good"))
	defer r.run(func(c *ingest.Config) { c.HandleTimeout = 700 * time.Millisecond })()
	r.ingested()
	r.want("default", "poison", "good")
	letters, err := r.Store.SubjectCounts(t.Context(), jetstore.StreamDeadletters, "batchbus.deadletters.default.poison.*")
	if err != nil || len(letters) != bad {
		t.Error(fmt.Sprintf("%d dead letters, want %d", len(letters), bad), err)
	}
}
