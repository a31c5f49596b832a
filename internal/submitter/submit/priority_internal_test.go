package submit

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestAPlaceIsKeptForOneKeyAndCapacityForOneModelAndWindow(t *testing.T) {
	t.Parallel()
	now := time.Now()
	soon := now.Add(time.Minute)
	like := func(edit func(*events.Batch)) *events.Batch {
		b := &events.Batch{Key: "k", GroupKey: events.GroupKey{Window: "24h", Model: "m"}, State: events.BatchUploaded, NextTryAt: &soon}
		edit(b)
		return b
	}
	window, model := like(func(b *events.Batch) { b.Window = "1h" }), like(func(b *events.Batch) { b.Model = "n" })
	key, same := like(func(b *events.Batch) { b.Key = "other" }), like(func(*events.Batch) {})
	for why, want := range map[string][4]bool{ // of the same, another window, model and key
		whySlots: {true, true, true, false}, whyTooMany: {true, true, true, false}, whyCapacity: {true, false, false, false},
		whyQuota: {}, "key_refused": {}, "": {},
	} {
		var r ranking
		r.saw(like(func(b *events.Batch) { b.Why = why }), 3, now, time.Minute)
		p := &places{}
		r.due(p)
		for i, b := range []*events.Batch{same, window, model, key} {
			if got := p.outranked(b, 2); got != want[i] {
				t.Errorf("%q, case %d: outranked %t", why, i, got)
			}
			if p.outranked(b, 3) || p.outranked(b, 4) {
				t.Errorf("%q, case %d: outranked by its like", why, i)
			}
		}
	}
	long := now.Add(-time.Hour)
	for name, b := range map[string]*events.Batch{
		"held": like(func(b *events.Batch) { b.Hold = &events.Hold{} }), "posted": like(func(b *events.Batch) { b.State = events.BatchCreating }),
		"tried by nobody": like(func(b *events.Batch) { b.NextTryAt = &long }), "ready": like(func(b *events.Batch) { b.NextTryAt = nil }),
	} {
		b.Why = whySlots
		if _, waits := awaitsPlace(b, now, time.Minute); waits {
			t.Errorf("%s: it keeps a place", name)
		}
	}
}
