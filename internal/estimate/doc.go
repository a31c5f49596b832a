// Package estimate says, before anything is paid, how many tokens rows may take and what that may cost. It is pure.
//
//	body ── OfRow ──▶ Row{input, output, unbounded} ── Sum.Add ──▶ Sum ── Tokens(assumed) ──▶ events.Usage ── prices.Table ──▶ money
//
// # Input
//
// Nobody here has the provider's tokenizers, so the input is guessed from bytes, on the high side: a token for every [BytesPerToken] bytes of the
// body as it is sent, its JSON included, and [RowTokens] for what a chat template adds. English prose has four to five bytes a token with the
// tokenizers of today's models, code and JSON three to four, Chinese and Japanese text about four (UTF-8 takes three bytes a character). Only
// random letters and digits have fewer than three. The families differ by less than the texts do, so there is one number for all of them. The
// provider's own estimate divides by four and calls itself no upper bound (doubleword-contract.md 3.5).
//
// An image is no text: the bytes of a base64 data URI are left out, and every image counts [ImageTokens], whether it is in the row or named by
// an address.
//
// # Output
//
// A row that bounds its answer (max_completion_tokens, max_output_tokens, max_tokens; the largest of those it has) may take that many tokens, as
// often as it asks for choices (n). One for embeddings takes none. Any other row is unbounded, and the caller says what to assume of it:
// what answers of the queue took so far ([Assume]), or [DefaultOutputTokens].
//
// An estimate is no bound: a model that thinks may be billed for more than it was allowed to say. What was really used is known at the
// settlement.
package estimate
