package prices

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
)

// Basis is what a cost by a table says of itself.
const Basis = "price_table"

// million is how many tokens a price is for.
const million = 1_000_000

// Table is a price table. It is immutable and safe for concurrent use; nil knows no price.
type Table struct {
	currency string
	basis    string
	prices   map[entryKey]price
}

type entryKey struct{ model, window string }

// realtime is the window of the entries that say what a model costs outside of batches. No batch has such a window.
const realtime = "realtime"

// price is what one token costs.
type price struct{ input, output events.Money }

// entry is one price as it stands in the file.
type entry struct {
	Model    string  `json:"model"`
	Window   string  `json:"window"`
	Input    decimal `json:"input_per_million"`
	Output   decimal `json:"output_per_million"`
	Currency string  `json:"currency"`
	Note     string  `json:"note"` // for people
}

// Parse reads a table. Its error names every entry that is wrong, counted from 1.
func Parse(data []byte) (*Table, error) {
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	var entries []entry
	if err := in.Decode(&entries); err != nil {
		return nil, fmt.Errorf("parse price table: %w", err)
	}
	if in.More() {
		return nil, errors.New("parse price table: something follows the list")
	}
	t := &Table{basis: Basis, prices: make(map[entryKey]price, len(entries))}
	var faults []error
	for i := range entries {
		if err := t.add(&entries[i]); err != nil {
			faults = append(faults, fmt.Errorf("entry %d: %w", i+1, err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("parse price table: %w", err)
	}
	return t, nil
}

func (t *Table) add(e *entry) error {
	key := entryKey{e.Model, e.Window}
	_, twice := t.prices[key]
	switch {
	case e.Model == "":
		return errors.New("it names no model")
	case e.Currency == "":
		return errors.New("it names no currency")
	case t.currency != "" && e.Currency != t.currency:
		return fmt.Errorf("it is in %s, and the entries before in %s: costs are added up, so all must be in one", e.Currency, t.currency)
	case e.Input == "":
		return errors.New("it has no input_per_million")
	case twice:
		return fmt.Errorf("%s with the window %q has a price already", e.Model, e.Window)
	}
	input, inputErr := e.Input.perToken()
	output, outputErr := e.Output.perToken()
	if err := errors.Join(inputErr, outputErr); err != nil {
		return err
	}
	t.currency, t.prices[key] = e.Currency, price{input, output}
	return nil
}

// Simulated is the table of the simulator, which has one price for every model that it is told no other of (its price.go) and bills nobody: costs by it say so in their
// basis.
func Simulated() *Table {
	return &Table{currency: "USD", basis: "simulated", prices: map[entryKey]price{
		{}: {input: 5 * events.MoneyUnit / 100 / million, output: 20 * events.MoneyUnit / 100 / million},
	}}
}

// Cost is what an answer of a model in a window costs; nil where the table has no price for them or the answer no usage.
func (t *Table) Cost(model, window string, usage *events.Usage) *events.Cost {
	return t.cost(usage, entryKey{model, window}, entryKey{model, ""}, entryKey{})
}

// Realtime is what the same would cost outside of a batch; nil where the table does not say.
func (t *Table) Realtime(model string, usage *events.Usage) *events.Cost {
	return t.cost(usage, entryKey{model, realtime})
}

// cost is by the first of the keys that has a price.
func (t *Table) cost(usage *events.Usage, keys ...entryKey) *events.Cost {
	if t == nil || usage == nil {
		return nil
	}
	for _, key := range keys {
		if p, ok := t.prices[key]; ok {
			amount := p.input.Times(usage.PromptTokens).Plus(p.output.Times(usage.CompletionTokens))
			return &events.Cost{Amount: amount.String(), Currency: t.currency, Basis: t.basis}
		}
	}
	return nil
}

// Currency is that of all prices; empty of a table that knows none.
func (t *Table) Currency() string {
	if t == nil {
		return ""
	}
	return t.currency
}

// decimal is a price as it is written, text or number.
type decimal string

// UnmarshalJSON keeps the digits of a text or a number; null is none.
func (d *decimal) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" {
		*d = ""
		return nil
	}
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(data, &text); err != nil {
			return fmt.Errorf("read price: %w", err)
		}
	}
	*d = decimal(text)
	return nil
}

// perToken is the price of one token, exactly.
func (d decimal) perToken() (events.Money, error) {
	if d == "" {
		return 0, nil
	}
	_, fraction, _ := strings.Cut(string(d), ".")
	perMillion, err := events.ParseMoney(string(d))
	switch {
	case err != nil:
		return 0, fmt.Errorf("price: %w", err)
	case perMillion < 0:
		return 0, fmt.Errorf("price %s is negative", d)
	case len(strings.TrimRight(fraction, "0")) > 6:
		return 0, fmt.Errorf("price %s has more than six digits behind the point", d)
	}
	return perMillion / million, nil
}
