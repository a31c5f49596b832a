package estimate

import (
	"bytes"
	"math"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
)

// What is assumed where nothing is known; the package's comment says why.
const (
	BytesPerToken       = 3    // of the body as it is sent
	RowTokens           = 16   // what a chat template adds to a row
	ImageTokens         = 4096 // of one image, a few million pixels
	DefaultOutputTokens = 2048 // of an answer without a bound, in a queue without history
	// MaxOutputTokens bounds what one row may say of itself: more than the context of any model.
	MaxOutputTokens = 1 << 20
	maxChoices      = 128
)

// Row is what one row may take, in tokens.
type Row struct {
	Input  int64
	Output int64 // what the row allows in all of its choices; of an unbounded one it is the number of choices
	// Unbounded says that the row does not say how long its answer may be.
	Unbounded bool
}

// OfRow estimates a row by its url and body, which must be a JSON object. It keeps nothing of the body.
func OfRow(url string, body []byte) Row {
	f := factsOf(body)
	row := Row{Input: (int64(len(body))-f.imageBytes+BytesPerToken-1)/BytesPerToken + RowTokens + f.images*ImageTokens}
	choices := min(max(f.choices, 1), maxChoices)
	switch {
	case strings.HasSuffix(url, "/embeddings"):
	case f.bound > 0:
		row.Output = min(f.bound, MaxOutputTokens) * choices
	default:
		row.Output, row.Unbounded = choices, true
	}
	return row
}

// Sum adds up rows. The zero value is that of no rows. Sums end at the largest number.
type Sum struct {
	Rows    int   `json:"rows"`
	Input   int64 `json:"input_tokens"`
	Bounded int64 `json:"bounded_output_tokens"` // of the rows that bound their answers
	// Unbounded is how many answers (choices) have no bound.
	Unbounded int64 `json:"unbounded_answers"`
}

// Add adds a row.
func (s *Sum) Add(r Row) {
	bounded, unbounded := r.Output, int64(0)
	if r.Unbounded {
		bounded, unbounded = 0, r.Output
	}
	s.AddSum(Sum{Rows: 1, Input: r.Input, Bounded: bounded, Unbounded: unbounded})
}

// AddSum adds another sum.
func (s *Sum) AddSum(other Sum) {
	s.Rows += other.Rows
	s.Input, s.Bounded = plus(s.Input, other.Input), plus(s.Bounded, other.Bounded)
	s.Unbounded = plus(s.Unbounded, other.Unbounded)
}

// Tokens are the tokens of all rows when each unbounded answer takes the assumed number of them.
func (s *Sum) Tokens(assumed int64) events.Usage {
	output := plus(s.Bounded, int64(events.Money(assumed).Times(s.Unbounded)))
	return events.Usage{PromptTokens: s.Input, CompletionTokens: output, TotalTokens: plus(s.Input, output)}
}

// plus is the sum of two numbers that are not negative, or the largest number.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Assume is what to assume of an unbounded answer after succeeded answers that took so many tokens of output in all: their average and a quarter
// more, or [DefaultOutputTokens] when there are none.
func Assume(answers, tokens int64) int64 {
	if answers <= 0 {
		return DefaultOutputTokens
	}
	return min((tokens/answers)*5/4+1, MaxOutputTokens)
}

// OfTail estimates a row by its url and what follows the custom_id in its line (package rows, AppendTail).
func OfTail(url string, tail []byte) Row {
	const name = `"body":` // nothing before it can hold a quote of its own: a url is a plain path
	at := bytes.Index(tail, []byte(name))
	if at < 0 {
		return OfRow(url, tail)
	}
	return OfRow(url, tail[at+len(name):len(tail)-1])
}

// OfBytes estimates rows whose bodies have so many bytes together, and whose answers have no bound.
func OfBytes(rows int, size int64) Sum {
	return Sum{Rows: rows, Input: size/BytesPerToken + 1 + int64(rows)*RowTokens, Unbounded: int64(rows)}
}
