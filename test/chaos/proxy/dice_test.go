package proxy_test

import (
	"testing"

	"github.com/batchbus/batchbus/test/chaos/proxy"
)

func TestTheSameSeedDrawsTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	first, again := proxy.NewDice(7, "ingest"), proxy.NewDice(7, "ingest")
	drawn := map[int64]uint64{}
	for n := range int64(100) {
		drawn[n] = first.At("publish", n).Uint64()
	}
	for n := int64(99); n >= 0; n-- {
		if again.At("publish", n).Uint64() != drawn[n] {
			t.Fatalf("draw %d differs", n)
		}
	}
	for what, other := range map[string]uint64{
		"another seed": proxy.NewDice(8, "ingest").At("publish", 3).Uint64(),
		"another name": proxy.NewDice(7, "poller").At("publish", 3).Uint64(),
		"another kind": first.At("delivery", 3).Uint64(),
		"another n":    first.At("publish", 4).Uint64(),
	} {
		if other == drawn[3] {
			t.Errorf("%s draws the same", what)
		}
	}
}
