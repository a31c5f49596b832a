package room

import "testing"

func TestRowsStreamIsNearlyFullAboveFourFifths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		used  uint64
		limit int64
		want  bool
	}{{800, 1000, false}, {801, 1000, true}, {1 << 62, -1, false}, {1 << 62, 0, false}, {1 << 62, 1 << 62, true}} {
		if got := nearlyFull(c.used, c.limit); got != c.want {
			t.Errorf("%d of %d: got %v", c.used, c.limit, got)
		}
	}
}
