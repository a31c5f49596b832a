package simulator

import "fmt"

// Price is what one token of a model costs, in 1e-12 of a dollar: a price for a million tokens, in millionths of a dollar. Whole numbers add up exactly.
type Price struct{ Input, Output int64 }

// usd is a dollar.
const usd = 1e12

// defaultPrice is that of every model that has none of its own: that of Qwen/Qwen3-VL-30B in the price list (contract, 10), which is as undated as
// they are, USD 0.05 and 0.20 for a million.
func defaultPrice() Price { return Price{Input: 50_000, Output: 200_000} }

// priceOf is what tokens of a model cost.
func (c Config) priceOf(model string) Price {
	if p, ok := c.Prices[model]; ok {
		return p
	}
	return defaultPrice()
}

func (c Config) checkPrices() error {
	for model, p := range c.Prices {
		if p.Input < 0 || p.Output < 0 {
			return fmt.Errorf("price of %q is negative", model)
		}
	}
	return nil
}

// of is the cost of so many tokens, in 1e-12 of a dollar.
func (p Price) of(prompt, completion int64) int64 { return p.Input*prompt + p.Output*completion }

// dollars writes an amount as the decimal text that the provider shows.
func dollars(amount int64) string { return fmt.Sprintf("%d.%012d", amount/usd, amount%usd) }
