package rowstats

import (
	"cmp"
	"slices"

	"github.com/batchbus/batchbus/internal/estimate"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// Stats are what was counted. Sizes are in bytes.
type Stats struct {
	Files    int            `json:"files"`
	Rows     int            `json:"rows"` // bad ones included
	BadRows  int            `json:"bad_rows"`
	BadCodes map[string]int `json:"bad_codes,omitempty"` // how many bad rows have which code
	Sizes    Sizes          `json:"row_bytes"`
	Groups   []Group        `json:"groups"` // of good rows, by url and model
	// InputTokens is an estimate: a token for three bytes of a body, and more for images.
	InputTokens int64 `json:"estimated_input_tokens"`
	// OutputTokens is what the rows that bound their answers allow: the sum of max_tokens, times the number of answers.
	OutputTokens int64 `json:"max_output_tokens"`
	Unbounded    int   `json:"unbounded_rows"` // rows that do not bound their answers
	Batches      int   `json:"batches"`        // of the good rows, as a queue with the default policy cuts them
	Doubled      int   `json:"doubled_custom_ids"`
	// FirstDoubled are places of the first few rows whose custom_id came before, the least hash first.
	FirstDoubled []Doubled `json:"first_doubled,omitempty"`
}

// Sizes are those of all lines, bad rows included. Median and P95 are at most 1/256 too low.
type Sizes struct {
	Min    int64 `json:"min"`
	Median int64 `json:"median"`
	P95    int64 `json:"p95"`
	Max    int64 `json:"max"`
	Total  int64 `json:"total"`
}

// Doubled is a row whose custom_id came before.
type Doubled struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	FirstFile string `json:"first_file"`
	FirstLine int    `json:"first_line"`
}

// Group is the same of the rows of one url and model, which share batches.
type Group struct {
	URL          string `json:"url"`
	Model        string `json:"model"`
	Rows         int    `json:"rows"`
	Bytes        int64  `json:"bytes"` // as uploaded
	InputTokens  int64  `json:"estimated_input_tokens"`
	OutputTokens int64  `json:"max_output_tokens"`
	Unbounded    int    `json:"unbounded_rows"`
	Batches      int    `json:"batches"`
}

// Counter counts rows. It is not safe for concurrent use.
type Counter struct {
	policy events.Policy
	sizes  sizes
	groups map[events.GroupKey]*group
	stats  Stats
	line   []byte
}

// group is a group with its last batch.
type group struct {
	Group
	rows  int
	bytes int64
}

// New returns a counter that cuts batches by a policy.
func New(policy events.Policy) *Counter {
	return &Counter{policy: policy, groups: make(map[events.GroupKey]*group), stats: Stats{BadCodes: make(map[string]int)}}
}

// Bad counts a bad row of so many bytes.
func (c *Counter) Bad(size int, code string) {
	c.stats.Rows++
	c.stats.BadRows++
	c.stats.BadCodes[code]++
	c.sizes.add(int64(size))
}

// Good counts a row whose line has so many bytes.
func (c *Counter) Good(size int, row *rows.Row) {
	c.stats.Rows++
	c.sizes.add(int64(size))
	key := events.GroupKey{URL: row.URL, Model: row.Model}
	g := c.groups[key]
	if g == nil {
		g = &group{Group: Group{URL: row.URL, Model: row.Model}}
		c.groups[key] = g
	}
	takes := estimate.OfRow(row.URL, row.Body)
	g.Rows++
	g.InputTokens += takes.Input
	if takes.Unbounded {
		g.Unbounded++
	} else {
		g.OutputTokens += takes.Output
	}
	c.line = row.AppendTail(append(c.line[:0], `{"custom_id":""`...))
	g.batch(int64(len(c.line)+len(rows.WireID(g.rows, row.CustomID))+1), &c.policy)
}

// batch puts a line, its line feed counted, into the group's last batch or a new one.
func (g *group) batch(size int64, p *events.Policy) {
	if g.Batches == 0 || g.rows == p.MaxRowsPerBatch || g.bytes+size > p.MaxBytesPerBatch {
		g.Batches++
		g.rows, g.bytes = 0, 0
	}
	g.rows++
	g.bytes += size
	g.Bytes += size
}

// Stats are what was counted so far, the groups in the order of their models.
func (c *Counter) Stats() Stats {
	s := c.stats
	s.Sizes = Sizes{Min: c.sizes.least, Median: c.sizes.quantile(0.5), P95: c.sizes.quantile(0.95), Max: c.sizes.most, Total: c.sizes.total}
	s.Groups = make([]Group, 0, len(c.groups))
	for _, g := range c.groups {
		s.Groups = append(s.Groups, g.Group)
		s.InputTokens += g.InputTokens
		s.OutputTokens += g.OutputTokens
		s.Unbounded += g.Unbounded
		s.Batches += g.Batches
	}
	slices.SortFunc(s.Groups, func(a, b Group) int { return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.URL, b.URL)) })
	return s
}
