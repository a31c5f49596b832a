package doubleword

import (
	"context"
	"net/http"
)

// Analytics is what the provider has gathered about a batch. It is eventually consistent: zeros, and numbers that still grow, are no answer.
type Analytics struct {
	// Requests is how many rows are gathered.
	Requests                                    int64
	PromptTokens, CompletionTokens, TotalTokens int64
	// Cost is the decimal text of what was billed, after discounts, and ListCost before them; empty when the provider does not say.
	Cost, ListCost string
	// Currency is what they are in; empty when the provider does not say.
	Currency string
}

type wireAnalytics struct {
	Requests         *looseNumber `json:"total_requests"`
	PromptTokens     looseNumber  `json:"total_prompt_tokens"`
	CompletionTokens looseNumber  `json:"total_completion_tokens"`
	TotalTokens      looseNumber  `json:"total_tokens"`
	Cost             looseString  `json:"total_cost"`
	ListCost         looseString  `json:"total_list_cost"`
	Currency         looseString  `json:"currency"`
}

func (w wireAnalytics) valid() bool { return w.Requests != nil }

// Analytics reads what is known of a batch's usage and cost. It is repeated inside for a short time. A Permanent error may also mean that the
// provider has no such route.
func (c *Client) Analytics(ctx context.Context, batchID string) (Analytics, error) {
	w, err := read[wireAnalytics](ctx, c, call{method: http.MethodGet, pattern: "/batches/{id}/analytics", id: batchID})
	if err != nil {
		return Analytics{}, err
	}
	return Analytics{
		Requests: w.Requests.int(), PromptTokens: w.PromptTokens.int(), CompletionTokens: w.CompletionTokens.int(),
		TotalTokens: w.TotalTokens.int(), Cost: string(w.Cost), ListCost: string(w.ListCost), Currency: string(w.Currency),
	}, nil
}
