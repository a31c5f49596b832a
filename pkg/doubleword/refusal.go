package doubleword

import (
	"errors"
	"net/http"
	"strings"
)

// Refusal says which kind of definite refusal of an upload or a create an error is.
type Refusal int

// Kinds of refusals.
const (
	// NotRefused: no definite refusal: no answer, a server fault, a timeout, no error.
	NotRefused Refusal = iota
	// RefusedLine: one row is at fault; LineOf tells which.
	RefusedLine
	// RefusedModel: the model is unknown, out of reach, gone, or not for this window; every row of it is at fault. LineOf may name one.
	RefusedModel
	// RefusedTooLarge: too many bytes or rows; SizeLimitOf or RowLimitOf may tell the limit.
	RefusedTooLarge
	// RefusedCredit: no money, or a spending cap is used up; a person has to act.
	RefusedCredit
	// RefusedUploadSlots: too many uploads at once; seconds to minutes.
	RefusedUploadSlots
	// RefusedCapacity: the model cannot take so many rows in this window; later, or a longer window.
	RefusedCapacity
	// RefusedUnverifiedQuota: rows of an unverified account per rolling window; waiting a minute never helps.
	RefusedUnverifiedQuota
	// RefusedKey: 401: a wrong key, or the provider failed while checking it; believe it after a few spaced repeats.
	RefusedKey
	// RefusedFileGone: 404 on a create: the file is gone, or the provider's storage failed; of a file known to exist it proves nothing.
	RefusedFileGone
	// RefusedOther: any other definite refusal; read the text. A 429 of no known kind is among them.
	RefusedOther
)

// String returns the kind in snake_case.
func (r Refusal) String() string {
	names := [...]string{
		"not_refused", "line", "model", "too_large", "credit", "upload_slots", "capacity", "unverified_quota", "key", "file_gone", "other",
	}
	if r < 0 || int(r) >= len(names) {
		return "unknown"
	}
	return names[r]
}

// RefusalOf classifies an error by status and text. It is pure.
func RefusalOf(err error) Refusal {
	var e *Error
	if !errors.As(err, &e) {
		return NotRefused
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return RefusedKey
	case http.StatusPaymentRequired:
		return RefusedCredit
	case http.StatusTooManyRequests:
		return refusalOfQuota(e.Text)
	case http.StatusNotFound:
		if e.Route == "POST /batches" {
			return RefusedFileGone
		}
		return RefusedOther
	case http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return refusalOfInput(e)
	}
	if definiteRefusal(e.Status) {
		return RefusedOther
	}
	return NotRefused
}

func refusalOfQuota(text string) Refusal {
	switch {
	case containsAny(text, "Too many file uploads in progress", "Timed out waiting for upload slot"):
		return RefusedUploadSlots
	case strings.Contains(text, "Insufficient capacity for"):
		return RefusedCapacity
	case strings.Contains(text, "Unverified accounts can submit"):
		return RefusedUnverifiedQuota
	}
	return RefusedOther
}

func refusalOfInput(e *Error) Refusal {
	_, hasLine := lineIn(e.Text)
	switch {
	case hasLine && e.Status == http.StatusForbidden && strings.Contains(e.Text, ": Model '"):
		return RefusedModel
	case hasLine:
		return RefusedLine
	case e.Status == http.StatusRequestEntityTooLarge:
		return RefusedTooLarge
	}
	if _, ok := rowLimitIn(e.Text); ok {
		return RefusedTooLarge
	}
	if containsAny(e.Text, "does not support completion window", "does not support batch processing", "no longer available") {
		return RefusedModel
	}
	return RefusedOther
}

func containsAny(text string, fragments ...string) bool {
	for _, fragment := range fragments {
		if strings.Contains(text, fragment) {
			return true
		}
	}
	return false
}
