package simulator

import (
	"bytes"
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"time"
)

// oddity is what a fault made of a row when it ran. It is kept, so that the row reads the same ever after.
type oddity struct {
	Kind   FaultKind `json:"kind"`
	Status int       `json:"status,omitempty"`
	Text   string    `json:"text,omitempty"`
}

// oddRows are rows of one chunk with the same oddity.
type oddRows struct {
	oddity
	Rows []uint32 `json:"rows"`
}

// oddities are all that befell one row.
type oddities []oddity

func (o oddities) of(kind FaultKind) (oddity, bool) {
	i := slices.IndexFunc(o, func(odd oddity) bool { return odd.Kind == kind })
	if i < 0 {
		return oddity{}, false
	}
	return o[i], true
}

func (o oddities) has(kind FaultKind) bool {
	_, ok := o.of(kind)
	return ok
}

// befall notes what a fault does to a row that runs now.
func (ev *event) befall(f Fault, b *batch, n uint32, round int, now time.Time) {
	switch f.Kind {
	case FaultLateRow:
		if round == 0 {
			ev.Holds = append(ev.Holds, hold{Row: n, Due: now.Add(f.Delay)})
		}
	case FaultMissingRow:
		ev.Lost = append(ev.Lost, n)
	case FaultModelSubstituted:
		if f.Delay == 0 || now.Add(f.Delay).After(b.ExpiresAt) {
			ev.addOdd(f, n)
		}
	case FaultNestedError:
		ev.addOdd(f, n)
		ev.Failed = append(ev.Failed, n)
	case FaultRetriedRow:
		ev.addOdd(f, n)
		ev.Failed = append(ev.Failed, n)
		if now.Before(b.ExpiresAt) {
			ev.Holds = append(ev.Holds, hold{Row: n, Due: b.ExpiresAt, Retried: true})
		}
	default:
		ev.addOdd(f, n)
	}
}

func (ev *event) addOdd(f Fault, n uint32) {
	odd := oddity{Kind: f.Kind, Status: f.Status, Text: f.Text}
	i := slices.IndexFunc(ev.Odd, func(o oddRows) bool { return o.oddity == odd })
	if i < 0 {
		ev.Odd = append(ev.Odd, oddRows{oddity: odd})
		i = len(ev.Odd) - 1
	}
	ev.Odd[i].Rows = append(ev.Odd[i].Rows, n)
}

// remember keeps the oddities of rows that ran.
func (b *batch) remember(all []oddRows) {
	if b.odd == nil && len(all) > 0 {
		b.odd = map[uint32]oddities{}
	}
	for _, odd := range all {
		for _, row := range odd.Rows {
			b.odd[row] = append(b.odd[row], odd.oddity)
		}
	}
}

// failure is why the oddities made the row fail, if they did.
func (o oddities) failure() failure {
	for _, odd := range o {
		switch odd.Kind {
		case FaultCreditOut:
			status := cmp.Or(odd.Status, http.StatusPaymentRequired)
			return httpFailure(status, openAIError(cmp.Or(odd.Text, standardText(status)), "insufficient_quota", ""))
		case FaultNestedError:
			inner := openAIError(cmp.Or(odd.Text, "The innermost message"), "invalid_request_error", "")
			return httpFailure(cmp.Or(odd.Status, http.StatusBadRequest), openAIError(inner, "upstream_error", ""))
		case FaultRetriedRow:
			status := cmp.Or(odd.Status, http.StatusNotFound)
			return httpFailure(status, openAIError(cmp.Or(odd.Text, "The model does not exist."), "not_found_error", "model"))
		case expiredRow:
			return failure{kind: expiredRow, details: "null"}
		default:
		}
	}
	return failure{}
}

// appendBody appends the answer as it stands in a line: oddities can make it something other than an object.
func (s *Simulator) appendBody(dst []byte, seed uint64, r row, odd oddities) []byte {
	if odd.has(FaultNullBody) {
		return append(dst, "null"...)
	}
	start := len(dst)
	dst = s.appendAnswer(dst, seed, r, odd)
	if t, ok := odd.of(FaultTruncated); ok && t.Text == "null" {
		reason := regexp.MustCompile(`("(?:finish|stop)_reason":)"[a-z_]+"`) // in a text its quotes are escaped
		dst = append(dst[:start], reason.ReplaceAll(bytes.Clone(dst[start:]), []byte("${1}null"))...)
	}
	if t, ok := odd.of(FaultStringBody); ok {
		text := cmp.Or(t.Text, "data: "+string(dst[start:])+"\n\n")
		dst = appendString(dst[:start], text)
	}
	return dst
}
