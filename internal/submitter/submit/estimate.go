package submit

import (
	"context"

	"github.com/batchbus/batchbus/internal/estimate"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
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
	assumed, from := int64(0), events.FromBounds
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
	answers, tokens, err := d.config.Jobs.Answers(ctx, d.batch.Queue, d.batch.Model)
	if err != nil {
		return 0, "", err
	}
	if from = events.FromHistory; answers == 0 {
		from = events.FromDefault
	}
	return estimate.Assume(answers, tokens), from, nil
}
