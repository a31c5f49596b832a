package rowstats_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/estimate"
	"github.com/batchbus/batchbus/internal/rowstats"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

func TestRowsAreCountedInTheirGroups(t *testing.T) {
	t.Parallel()
	c := rowstats.New(events.DefaultPolicy())
	body := []byte(`{"model":"a","max_tokens":10,"n":2}`)
	c.Good(100, &rows.Row{CustomID: "x", URL: "/v1/chat/completions", Model: "b", Body: body})
	c.Good(200, &rows.Row{CustomID: "y", URL: "/v1/chat/completions", Model: "a", Body: body})
	c.Good(300, &rows.Row{CustomID: "z", URL: "/v1/chat/completions", Model: "a", Body: []byte(`{}`)})
	c.Bad(7, rows.CodeInvalidJSON)
	s := c.Stats()
	input := estimate.OfRow("/v1/chat/completions", body).Input
	line := rows.AppendLine(nil, "0~x", rows.Row{URL: "/v1/chat/completions", Body: body}.AppendTail(nil))
	if len(s.Groups) != 2 || s.Groups[1] != (rowstats.Group{
		URL: "/v1/chat/completions", Model: "b", Rows: 1, Bytes: int64(len(line)), InputTokens: input, OutputTokens: 20, Batches: 1,
	}) {
		t.Errorf("%+v, the line has %d bytes", s.Groups, len(line))
	}
	if s.Rows != 4 || s.BadRows != 1 || s.BadCodes[rows.CodeInvalidJSON] != 1 || s.OutputTokens != 40 || s.Unbounded != 1 || s.Batches != 2 {
		t.Errorf("%+v", s)
	}
	if s.Sizes != (rowstats.Sizes{Min: 7, Median: 100, P95: 300, Max: 300, Total: 607}) {
		t.Errorf("%+v", s.Sizes)
	}
}

func TestBatchesAreCutAtRowsAndBytes(t *testing.T) {
	t.Parallel()
	row := rows.Row{CustomID: "x", URL: "/v1/embeddings", Model: "m", Body: []byte(`{}`)}
	size := int64(len(rows.AppendLine(nil, "0~x", row.AppendTail(nil))))
	for _, limit := range []events.Policy{{MaxRowsPerBatch: 3, MaxBytesPerBatch: math.MaxInt64}, {MaxRowsPerBatch: 100, MaxBytesPerBatch: 3*size + 2}} {
		c := rowstats.New(limit)
		for n, want := range []int{1, 1, 1, 2, 2, 2, 3} {
			c.Good(1, &row)
			if got := c.Stats().Batches; got != want {
				t.Errorf("%d rows are %d batches, want %d", n+1, got, want)
			}
		}
	}
}

func TestQuantilesAreWithinTheirPrecision(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 600), rapid.IntRange(0, 70<<20)), 1, 200).Draw(t, "sizes")
		c := rowstats.New(events.DefaultPolicy())
		total := int64(0)
		for _, size := range all {
			c.Bad(size, "x")
			total += int64(size)
		}
		slices.Sort(all)
		at := func(q float64) int64 { return int64(all[int(math.Ceil(q*float64(len(all))))-1]) }
		s := c.Stats().Sizes
		if s.Min != at(0.0001) || s.Max != at(1) || s.Total != total {
			t.Fatalf("%+v", s)
		}
		for got, want := range map[string][2]int64{"median": {s.Median, at(0.5)}, "p95": {s.P95, at(0.95)}} {
			if want[0] > want[1] || want[0] < want[1]-want[1]/256-1 {
				t.Fatalf("%s is %d, want %d", got, want[0], want[1])
			}
		}
	})
	if got := rowstats.New(events.DefaultPolicy()).Stats(); got.Rows != 0 || got.Sizes != (rowstats.Sizes{}) {
		t.Errorf("%+v", got)
	}
}
