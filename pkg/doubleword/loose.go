package doubleword

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// The loose types take whatever a provider sends where the contract says something simpler, and never fail: one odd field must not hide
// a batch that costs money.

// looseString is a string; null is empty, anything else is kept as its JSON text.
type looseString string

// UnmarshalJSON never fails.
func (s *looseString) UnmarshalJSON(b []byte) error {
	var text string
	switch {
	case string(b) == "null":
		*s = ""
	case json.Unmarshal(b, &text) == nil:
		*s = looseString(text)
	default:
		*s = looseString(b)
	}
	return nil
}

// looseNumber is a number or a string that holds one; anything else is 0.
type looseNumber float64

// UnmarshalJSON never fails.
func (n *looseNumber) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		f = 0
	}
	*n = looseNumber(f)
	return nil
}

// int is exact up to 2^53, far beyond any count or size here.
func (n looseNumber) int() int64 {
	return int64(max(-1<<53, min(1<<53, float64(n))))
}

// looseTime is unix seconds (also as text, also with a fraction) or RFC 3339; anything else, and 0, is the zero time. So is what lies outside of the
// years 1 to 9999, such as seconds that are milliseconds: no JSON time can hold it, and who writes it down would fail after it was paid for.
type looseTime struct{ time.Time }

// UnmarshalJSON never fails.
func (t *looseTime) UnmarshalJSON(b []byte) error {
	t.Time = timeOf(b)
	if year := t.Year(); year < 1 || year > 9999 {
		t.Time = time.Time{}
	}
	return nil
}

func timeOf(b []byte) time.Time {
	text := strings.Trim(string(b), `" `)
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC()
	}
	var n looseNumber
	_ = n.UnmarshalJSON(b)
	if n.int() <= 0 {
		return time.Time{}
	}
	whole, part := math.Modf(min(float64(n), 1<<53))
	return time.Unix(int64(whole), int64(part*1e9)).UTC()
}

// looseErrors is `{"data":[…]}` or a bare list; anything else is none.
type looseErrors []BatchError

type wireBatchError struct {
	Code    looseString `json:"code"`
	Message looseString `json:"message"`
	Line    looseNumber `json:"line"`
}

// UnmarshalJSON never fails.
func (e *looseErrors) UnmarshalJSON(b []byte) error {
	var envelope struct {
		Data []wireBatchError `json:"data"`
	}
	list := envelope.Data
	if json.Unmarshal(b, &envelope) == nil {
		list = envelope.Data
	} else if json.Unmarshal(b, &list) != nil {
		list = nil
	}
	*e = nil
	for _, w := range list {
		*e = append(*e, BatchError{Code: string(w.Code), Message: string(w.Message), Line: int(w.Line.int())})
	}
	return nil
}

// looseStrings is an object whose values should be strings; anything else is none.
type looseStrings map[string]string

// UnmarshalJSON never fails.
func (m *looseStrings) UnmarshalJSON(b []byte) error {
	var values map[string]looseString
	*m = nil
	_ = json.Unmarshal(b, &values)
	if values == nil {
		return nil
	}
	*m = make(looseStrings, len(values))
	for key, value := range values {
		(*m)[key] = string(value)
	}
	return nil
}

// looseBool is true only for a JSON true.
type looseBool bool

// UnmarshalJSON never fails.
func (v *looseBool) UnmarshalJSON(b []byte) error {
	*v = string(b) == "true"
	return nil
}
