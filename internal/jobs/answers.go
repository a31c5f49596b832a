package jobs

import "context"

// Answers counts the rows of a model that succeeded in batches of the queue that have ended, and the tokens of their answers, under the reserve of
// [Store.Jobs].
func (s *Store) Answers(ctx context.Context, queue, model string) (answers, tokens int64, err error) {
	for b, err := range s.BatchesFrom(ctx, queue, "", 1) {
		if err != nil {
			return 0, 0, err
		}
		if b.Model == model && b.State.Ended() && b.Totals != nil {
			answers += int64(b.Totals.Succeeded)
			tokens += b.Totals.Usage.CompletionTokens
		}
	}
	return answers, tokens, nil
}
