package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Money is an exact amount of some currency in units of 1e-12, so that no price of a token is rounded. It is JSON as a decimal text, like
// "0.000123". It holds up to about nine million; sums beyond stay at the largest amount.
type Money int64

// MoneyUnit is one whole unit of the currency.
const MoneyUnit Money = 1e12

const moneyDigits = 12

// ErrMoney is returned when a text is no decimal amount that [Money] can hold.
var ErrMoney = errors.New("is no decimal amount of up to nine million")

// ParseMoney reads a decimal text without an exponent. Digits beyond the twelfth behind the point are dropped.
func ParseMoney(text string) (Money, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, pointed := strings.Cut(digits, ".")
	if whole == "" || pointed && fraction == "" || !areDigits(whole) || !areDigits(fraction) {
		return 0, fmt.Errorf("parse money %.40q: %w", text, ErrMoney)
	}
	fraction = fraction[:min(len(fraction), moneyDigits)]
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", moneyDigits-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse money %.40q: %w", text, ErrMoney)
	}
	if negative {
		n = -n
	}
	return Money(n), nil
}

func areDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// String is the shortest decimal text of m.
func (m Money) String() string {
	sign, units := "", uint64(m)
	if m < 0 {
		sign, units = "-", -units
	}
	whole, rest := units/uint64(MoneyUnit), units%uint64(MoneyUnit)
	if rest == 0 {
		return sign + strconv.FormatUint(whole, 10)
	}
	return sign + strconv.FormatUint(whole, 10) + "." + strings.TrimRight(fmt.Sprintf("%0*d", moneyDigits, rest), "0")
}

// Plus is the sum of both, or the largest amount where that is beyond it. It is pure.
func (m Money) Plus(other Money) Money {
	if other > 0 && m > math.MaxInt64-other {
		return math.MaxInt64
	}
	if other < 0 && m < math.MinInt64-other {
		return math.MinInt64
	}
	return m + other
}

// Times is m, which must not be negative, n times, or the largest amount where that is beyond it. It is pure.
func (m Money) Times(n int64) Money {
	high, low := bits.Mul64(uint64(max(m, 0)), uint64(max(n, 0)))
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return Money(low)
}

// MarshalJSON writes the decimal text.
func (m Money) MarshalJSON() ([]byte, error) { return []byte(`"` + m.String() + `"`), nil }

// UnmarshalJSON reads the decimal text, and a number without an exponent.
func (m *Money) UnmarshalJSON(data []byte) error {
	var text json.Number
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("parse money %.40s: %w", data, ErrMoney)
	}
	parsed, err := ParseMoney(text.String())
	*m = parsed
	return err
}

// Money is the amount of c; 0 of nil and of a text that is no amount.
func (c *Cost) Money() Money {
	if c == nil {
		return 0
	}
	amount, err := ParseMoney(c.Amount)
	if err != nil {
		return 0
	}
	return amount
}

// MixedCurrencies is the currency of a sum over costs in several currencies, which is none.
const MixedCurrencies = "mixed"

// CountResult adds the row that r answers: its outcome, usage and cost.
func (t *Totals) CountResult(r *Result) {
	var usage Usage
	if r.Usage != nil {
		usage = *r.Usage
	}
	t.Count(r.Outcome, r.Truncated, usage)
	if r.Cost != nil {
		t.Add(Totals{Cost: r.Cost.Money(), Currency: r.Cost.Currency, Basis: r.Cost.Basis})
	}
}

// bothCurrencies is the currency of a sum of amounts in a and b, and the basis of one on a and b.
func bothCurrencies(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	default:
		return MixedCurrencies
	}
}
