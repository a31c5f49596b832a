package plan

import (
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

// sized is a row whose line at the given place is so long, its newline counted.
func sized(place int, bytes int64) *block.Entry {
	e := &block.Entry{CustomID: "a"}
	e.Size = int(bytes - manifest.LineSize(place, e, false))
	e.Tail = []byte(strings.Repeat("x", min(e.Size, 1<<10)))
	return e
}

func TestABatchIsCutAtExactlyItsBytes(t *testing.T) {
	t.Parallel()
	const limit = events.DefaultMaxBytesPerBatch
	for name, c := range map[string]struct {
		last  int64 // bytes of the last of three lines
		rest  int   // rows that go into the next file
		bytes int64 // of the file that is cut
	}{
		"exactly the limit":           {last: limit - 100, rest: 0, bytes: limit},
		"its newline is over it":      {last: limit - 99, rest: 1, bytes: 100},
		"a line that is over it, too": {last: limit + 1, rest: 0, bytes: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &group{}
			l := limits{maxRows: 50_000, maxBytes: limit}
			g.gather(sized(0, 50), events.RowPlace{}, l)
			g.gather(sized(1, 50), events.RowPlace{Index: 1}, l)
			full := g.gather(sized(2, c.last), events.RowPlace{Index: 2}, l)
			if len(full) == 0 || full[0].bytes != c.bytes || len(g.entries) != c.rest {
				t.Fatalf("cut %+v, %d rows wait", full, len(g.entries))
			}
			if over := c.last > limit; over && (len(full) != 2 || full[1].bytes != c.last || len(full[1].entries) != 1) {
				t.Errorf("a line over the limit is not alone: %+v", full)
			}
		})
	}
}
