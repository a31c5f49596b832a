package events

// Limits are what may be spent: by a job, by a queue in all, and by a queue in a day (UTC). Money is in the currency of the price table. 0 is no
// limit. They are checked before a batch is sent, by an estimate, so what is really used can be more.
type Limits struct {
	JobMoney    Money `json:"job_money,omitzero"`
	JobTokens   int64 `json:"job_tokens,omitempty"`
	QueueMoney  Money `json:"queue_money,omitzero"`
	QueueTokens int64 `json:"queue_tokens,omitempty"`
	DayMoney    Money `json:"day_money,omitzero"`
	DayTokens   int64 `json:"day_tokens,omitempty"`
}

// Amount is what was, or may be, used.
type Amount struct {
	Tokens int64 `json:"tokens"`
	Money  Money `json:"money"`
}

// Plus is the sum of both, or the largest amount where that is beyond it.
func (a Amount) Plus(b Amount) Amount {
	return Amount{Tokens: int64(Money(a.Tokens).Plus(Money(b.Tokens))), Money: a.Money.Plus(b.Money)}
}

// Minus is a without b, and nothing where b is more.
func (a Amount) Minus(b Amount) Amount {
	return Amount{Tokens: max(0, a.Tokens-b.Tokens), Money: max(0, a.Money-b.Money)}
}

// Spending is what settled batches have used, and what those that run may use.
type Spending struct {
	Spent    Amount `json:"spent"`
	Reserved Amount `json:"reserved"`
}

// Ledger is what a queue spends. It is changed in the same publish as the batch that it is about: with the change to creating, which reserves,
// and with the settlement, which puts what was used in the place of the reservation.
type Ledger struct {
	Currency string   `json:"currency,omitempty"` // of all money; empty while no price was known
	Total    Spending `json:"total"`
	Day      string   `json:"day"` // "2026-12-01": the last day on which something was reserved
	Today    Spending `json:"today"`
}

// Reservation is what a batch may use, from its change to creating until its end. It counts on the day on which it was made, as does what the
// batch uses.
type Reservation struct {
	Amount
	Currency string `json:"currency,omitempty"` // empty: no price was known
	Basis    string `json:"basis,omitempty"`    // of the price: "price_table", or "simulated"
	Day      string `json:"day"`
}

// Estimate is what the rows of a batch may take, as it was guessed before the batch was sent.
type Estimate struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// OutputFrom says what stands for the answers of rows that do not bound theirs, as one of the From constants.
	OutputFrom string `json:"output_from"`
}

// Where the output tokens of an estimate come from.
const (
	FromBounds  = "max_tokens" // every row bounds its answer, or whoever asked did
	FromHistory = "history"    // what answers of the model took in the queue so far
	FromDefault = "default"    // a fixed number
)

// Shortage says which limit keeps a batch from being sent. Figures are decimal texts, in tokens or money.
type Shortage struct {
	Limit    string `json:"limit"`         // a field of [Limits], or allowed_money, allowed_tokens
	Day      string `json:"day,omitempty"` // of a limit of a day
	Unit     string `json:"unit"`          // "tokens", or the currency
	Allowed  string `json:"allowed"`
	Spent    string `json:"spent"`
	Reserved string `json:"reserved"`
	Needed   string `json:"needed"`
}

// Allowance is what a person lets one job use in all, whatever the limits say. 0 is no word about it.
type Allowance struct {
	Money  Money `json:"money,omitzero"`
	Tokens int64 `json:"tokens,omitempty"`
}
