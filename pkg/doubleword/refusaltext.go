package doubleword

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// LineOf returns the row that a refused upload or create names, as the 1-based ordinal among the non-blank rows. It is pure.
func LineOf(err error) (line int, ok bool) {
	var e *Error
	if !errors.As(err, &e) || e.Status < 400 || e.Status > 499 {
		return 0, false
	}
	return lineIn(e.Text)
}

// RowLimitOf returns the most rows a file may have, as far as a refusal tells. It is pure.
func RowLimitOf(err error) (rows int, ok bool) {
	var e *Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return rowLimitIn(e.Text)
}

// UnverifiedQuotaOf returns how many rows an unverified account may have in a rolling window, as far as a refusal tells. It is pure.
func UnverifiedQuotaOf(err error) (rows int, ok bool) {
	var e *Error
	if !errors.As(err, &e) || refusalOfQuota(e.Text) != RefusedUnverifiedQuota {
		return 0, false
	}
	_, rest, found := strings.Cut(e.Text, "Unverified accounts can submit at most ")
	rows, _ = leadingInt(strings.ReplaceAll(rest, ",", ""))
	return rows, found && rows > 0
}

// SizeLimitOf returns the most bytes a file may have, as far as a 413 tells. Of several sizes in the text the smallest is taken, since the
// refused size is never the smaller one; MB is read as 10^6 and MiB as 2^20. It is pure.
func SizeLimitOf(err error) (bytes int64, ok bool) {
	var e *Error
	if !errors.As(err, &e) || e.Status != http.StatusRequestEntityTooLarge {
		return 0, false
	}
	smallest := math.Inf(1)
	for _, size := range sizesIn(e.Text) {
		smallest = min(smallest, size)
	}
	if math.IsInf(smallest, 1) {
		return 0, false
	}
	return int64(smallest), true
}

// lineIn finds "Line n:", "Line n (custom_id …" or "Invalid JSON on line n:" where a message can begin: a row's own text, which a
// message may quote, must not be mistaken for it.
func lineIn(text string) (int, bool) {
	for _, marker := range []string{"Line ", "Invalid JSON on line "} {
		for rest, from := text, 0; ; {
			at := strings.Index(rest[from:], marker)
			if at < 0 {
				break
			}
			at += from
			from = at + len(marker)
			n, after := leadingInt(rest[from:])
			if n > 0 && startsMessage(rest[:at]) && (strings.HasPrefix(after, ":") || strings.HasPrefix(after, " (")) {
				return n, true
			}
		}
	}
	return 0, false
}

// startsMessage reports whether what stands before can be a prefix of a message: nothing, the opening quote of a JSON string, or "word: ".
func startsMessage(before string) bool {
	trimmed := strings.TrimRight(before, " ")
	return trimmed == "" || strings.HasSuffix(before, `"`) || strings.HasSuffix(trimmed, ":")
}

// rowLimitIn reads "File contains <cap+1> requests": the provider stops counting there, so the number is not the file's.
func rowLimitIn(text string) (int, bool) {
	_, rest, found := strings.Cut(text, "File contains ")
	n, after := leadingInt(rest)
	if !found || n < 2 || !strings.HasPrefix(after, " requests") {
		return 0, false
	}
	return n - 1, true
}

func leadingInt(s string) (n int, after string) {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return 0, s
	}
	return n, s[end:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// sizesIn returns every size in a text: a number with a unit, or a bare number too big to be a status or a count of seconds.
func sizesIn(text string) []float64 {
	const bareSize = 1 << 16
	var sizes []float64
	for i := 0; i < len(text); {
		if !isDigit(text[i]) {
			i++
			continue
		}
		end := i
		for end < len(text) && (isDigit(text[end]) || text[end] == ',' || text[end] == '.') {
			end++
		}
		number := strings.TrimRight(strings.ReplaceAll(text[i:end], ",", ""), ".")
		value, err := strconv.ParseFloat(number, 64)
		unit := unitOf(text[end:])
		if err == nil && value > 0 && (unit > 0 || value >= bareSize) {
			sizes = append(sizes, value*max(unit, 1))
		}
		i = end
	}
	return sizes
}

// unitOf returns the unit a text starts with in bytes, 0 when it is none.
func unitOf(s string) float64 {
	word := strings.ToLower(strings.TrimLeft(s, " -"))
	end := 0
	for end < len(word) && word[end] >= 'a' && word[end] <= 'z' {
		end++
	}
	switch word[:end] {
	case "b", "byte", "bytes":
		return 1
	case "kb":
		return 1e3
	case "kib":
		return 1 << 10
	case "mb":
		return 1e6
	case "mib":
		return 1 << 20
	case "gb":
		return 1e9
	case "gib":
		return 1 << 30
	}
	return 0
}
