package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/manifest"
)

func TestLineSizeIsTheLengthOfTheLine(t *testing.T) {
	t.Parallel()
	ids := rapid.OneOf(
		rapid.String(), rapid.StringMatching(`[ -~]{0,70}`), rapid.StringMatching(`["\\<>&/]{0,64}`),
		rapid.SampledFrom([]string{"", "é", "\u2028", "\x7f", "\x1f", "\ufffd", strings.Repeat(`"`, 62), strings.Repeat(`\`, 63)}),
	)
	rapid.Check(t, func(t *rapid.T) {
		e := block.Entry{CustomID: ids.Draw(t, "id"), Tail: []byte(`,"body":` + rapid.StringMatching(`"[a-zé]{0,9}"`).Draw(t, "body") + `}`)}
		e.Size = len(e.Tail)
		place, opaque := rapid.SampledFrom([]int{0, 9, 10, 49_999, 1 << 30}).Draw(t, "place"), rapid.Bool().Draw(t, "opaque")
		line := manifest.AppendLine([]byte("before"), place, &e, opaque)[len("before"):]
		tail := e.Tail
		e.Tail, e.Absent = nil, true // as the planner has it
		if size := manifest.LineSize(place, &e, opaque); size != int64(len(line)) {
			t.Fatalf("size %d, want %d for %q", size, len(line), line)
		}
		var read struct {
			CustomID string `json:"custom_id"`
			Body     string `json:"body"`
		}
		if err := json.Unmarshal(line, &read); err != nil || read.CustomID != manifest.WireID(place, e.CustomID, opaque) {
			t.Fatalf("%q holds %q, %v", line, read.CustomID, err)
		}
		if !strings.HasSuffix(string(line), string(tail)+"\n") || strings.Count(string(line), "\n") != 1 {
			t.Fatalf("%q does not end in the tail %q", line, tail)
		}
	})
}

func TestAWireIDHoldsTheRowsOwnIDUpTo64Bytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		place  int
		id     string
		opaque bool
		want   string
	}{
		{0, "case-1", false, "0~case-1"},
		{0, "case-1", true, "0~"},
		{12, strings.Repeat("x", 61), false, "12~" + strings.Repeat("x", 61)},
		{12, strings.Repeat("x", 62), false, "12~"},
		{12, "naïve", false, "12~"},
		{12, `"\`, false, `12~"\`},
	} {
		if got := manifest.WireID(c.place, c.id, c.opaque); got != c.want || len(got) > 64 {
			t.Errorf("%d %q opaque %v: %q, want %q", c.place, c.id, c.opaque, got, c.want)
		}
	}
}
