package usage

import (
	"cmp"
	"slices"

	"github.com/batchbus/batchbus/internal/budget"
	"github.com/batchbus/batchbus/pkg/events"
)

// Realtime says what tokens of a model cost outside of batches; nil where that is not known.
type Realtime interface {
	Realtime(model string, usage *events.Usage) *events.Cost
}

// Line is what batches of one day, model and window used.
type Line struct {
	Day    string `json:"day"`
	Model  string `json:"model"`
	Window string `json:"window"`
	Sum
}

// Sum is what batches used.
type Sum struct {
	Batches int          `json:"batches"` // that have ended
	Rows    int          `json:"rows"`    // of them, with a result
	Tokens  events.Usage `json:"tokens"`
	// Cost is in Currency, by the price table of the time; left out where nothing had a price. Basis is "simulated" where nothing was paid.
	Cost     events.Money `json:"cost,omitzero"`
	Currency string       `json:"currency,omitempty"`
	Basis    string       `json:"basis,omitempty"`
	// Billed is what the provider said that it billed, of Bills batches: the others it said nothing about.
	Billed events.Money `json:"billed,omitzero"`
	Bills  int          `json:"bills,omitempty"`
	// Realtime is what the same tokens cost outside of batches, and Saved what is less; of the batches whose both prices are known.
	Realtime events.Money `json:"realtime,omitzero"`
	Saved    events.Money `json:"saved,omitzero"`
	Compared int          `json:"compared,omitempty"` // how many batches those are

	Running int `json:"running,omitempty"` // sent, and not at their end
	Waiting int `json:"waiting,omitempty"` // not sent yet
	// Reserved is an estimate of what those that run may use, where a limit is set.
	Reserved events.Amount `json:"reserved,omitzero"`
}

// Queue is what one queue used. Lines are in the order of their days.
type Queue struct {
	Queue  string         `json:"queue"`
	Limits events.Limits  `json:"limits,omitzero"`
	Ledger *events.Ledger `json:"ledger,omitempty"` // by which limits are kept
	Total  Sum            `json:"total"`
	Lines  []Line         `json:"lines"`
}

// Report adds up batches. Make one with [New].
type Report struct {
	since  string
	prices Realtime
	queues map[string]map[key]*Sum
}

type key struct{ day, model, window string }

// New begins a report over the days from since ("2026-12-01") on; empty: all of them.
func New(since string, prices Realtime) *Report {
	return &Report{since: since, prices: prices, queues: make(map[string]map[key]*Sum)}
}

// Add adds a batch. Each is to be added once, as it is now.
func (r *Report) Add(b *events.Batch) {
	day := dayOf(b)
	if day < r.since {
		return
	}
	lines := r.queues[b.Queue]
	if lines == nil {
		lines = make(map[key]*Sum)
		r.queues[b.Queue] = lines
	}
	k := key{day, b.Model, b.Window}
	if lines[k] == nil {
		lines[k] = &Sum{}
	}
	lines[k].add(r.sumOf(b))
}

// dayOf is the day that a batch belongs to; one that was never sent belongs to that of its last change.
func dayOf(b *events.Batch) string {
	switch {
	case b.Spent != nil && b.Spent.Day != "":
		return b.Spent.Day
	case b.Reserved != nil:
		return b.Reserved.Day
	case b.SubmittedAt != nil:
		return budget.Day(*b.SubmittedAt)
	}
	return budget.Day(b.SinceAt)
}

// sumOf is what one batch adds.
func (r *Report) sumOf(b *events.Batch) Sum {
	switch {
	case b.State == events.BatchPlanned, b.State == events.BatchUploaded:
		return Sum{Waiting: 1, Reserved: reservedOf(b)}
	case !b.State.Ended() || b.Totals == nil:
		return Sum{Running: 1, Reserved: reservedOf(b)}
	}
	t := b.Totals
	s := Sum{Batches: 1, Rows: t.Rows, Tokens: t.Usage, Cost: t.Cost, Currency: t.Currency, Basis: t.Basis}
	if b.Billed != nil {
		s.Billed, s.Bills = *b.Billed, 1
	}
	if direct := r.prices.Realtime(b.Model, &t.Usage); direct != nil && t.Currency == direct.Currency && t.Usage.TotalTokens > 0 {
		s.Realtime, s.Compared = direct.Money(), 1
		s.Saved = s.Realtime.Plus(-t.Cost)
	}
	return s
}

func reservedOf(b *events.Batch) events.Amount {
	if b.Reserved == nil {
		return events.Amount{}
	}
	return b.Reserved.Amount
}

func (s *Sum) add(other Sum) {
	t := events.Totals{Cost: s.Cost, Currency: s.Currency, Basis: s.Basis}
	t.Add(events.Totals{Cost: other.Cost, Currency: other.Currency, Basis: other.Basis})
	s.Cost, s.Currency, s.Basis = t.Cost, t.Currency, t.Basis
	s.Batches, s.Rows, s.Bills, s.Compared = s.Batches+other.Batches, s.Rows+other.Rows, s.Bills+other.Bills, s.Compared+other.Compared
	s.Running, s.Waiting = s.Running+other.Running, s.Waiting+other.Waiting
	s.Tokens.Add(other.Tokens)
	s.Billed, s.Realtime, s.Saved = s.Billed.Plus(other.Billed), s.Realtime.Plus(other.Realtime), s.Saved.Plus(other.Saved)
	s.Reserved = s.Reserved.Plus(other.Reserved)
}

// Queue is what the queue used; without lines when nothing was found.
func (r *Report) Queue(name string) Queue {
	q := Queue{Queue: name, Lines: []Line{}}
	for k, sum := range r.queues[name] {
		q.Lines = append(q.Lines, Line{Day: k.day, Model: k.model, Window: k.window, Sum: *sum})
	}
	slices.SortFunc(q.Lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Window, b.Window))
	})
	for i := range q.Lines {
		q.Total.add(q.Lines[i].Sum)
	}
	return q
}

// Queues are the names of the queues that were found, in order.
func (r *Report) Queues() []string {
	names := make([]string, 0, len(r.queues))
	for name := range r.queues {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
