package submit

import (
	"context"

	"github.com/batchbus/batchbus/internal/estimate"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

// Where the output of rows comes from that do not bound theirs.
const (
	fromBounds  = "max_tokens"
	fromHistory = "history"
	fromDefault = "default"
)

// estimateRows reads the batch's rows and says what they may take. The provider is not asked: its own estimate needs the upload, and is no upper
// bound (doubleword-contract.md 3.5).
func (d *drive) estimateRows(ctx context.Context) (step, error) {
	entries, err := manifest.Load(ctx, d.config.Bus, d.batch.Manifest)
	if err != nil {
		return d.unreadable(ctx, err)
	}
	var sum estimate.Sum
	for row, err := range manifest.Rows(ctx, d.config.Bus, d.batch.Queue, d.batch.Job, entries) {
		if err != nil {
			return d.unreadable(ctx, err)
		}
		sum.Add(estimate.OfTail(d.batch.URL, row.Tail))
	}
	assumed, from := int64(0), fromBounds
	if sum.Unbounded > 0 {
		if assumed, from, err = d.history(ctx); err != nil {
			return step{}, err
		}
	}
	tokens := sum.Tokens(assumed)
	d.memory.estimate = &events.Estimate{InputTokens: tokens.PromptTokens, OutputTokens: tokens.CompletionTokens, OutputFrom: from}
	d.judgeSpending()
	return step{}, nil
}

// history is what to assume of an answer without a bound, by what answers of the same model took in batches of the queue that have ended.
func (d *drive) history(ctx context.Context) (assumed int64, from string, err error) {
	var answers, tokens int64
	for b, err := range d.config.Jobs.AllBatches(ctx) {
		if err != nil {
			return 0, "", err
		}
		if b.Queue == d.batch.Queue && b.Model == d.batch.Model && b.State.Ended() && b.Totals != nil {
			answers += int64(b.Totals.Succeeded)
			tokens += b.Totals.Usage.CompletionTokens
		}
	}
	if from = fromHistory; answers == 0 {
		from = fromDefault
	}
	return estimate.Assume(answers, tokens), from, nil
}
