// Package prices says what an answer costs by a table of one's own: models and completion windows with their prices of a million tokens.
//
//	[{"model":"m","window":"24h","input_per_million":"0.02","output_per_million":"0.15","currency":"USD"}]
//
// A window of "" stands for every window that the model's other entries do not name; the window "realtime" is what the model costs outside of
// batches, with which batches are compared and by which nothing is counted. A model without an output price, as those of embeddings,
// charges the input alone. Prices are decimal texts (or numbers without an exponent) with at most six digits behind the point, so that one
// token costs a whole number of [events.Money] units and every sum is exact. All entries are in one currency, since costs are added up.
//
// The model is the one that was asked for: near its deadline a provider may run a row on another, and bills by what was asked (an inference
// from doubleword-contract.md 5.3 and 10; the bill itself is the batch's `billed`).
package prices
