package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxNameBytes is the longest queue or job name, and the longest custom_id that is its own row token.
const MaxNameBytes = 64

// DefaultQueue is the queue whose policy needs no record.
const DefaultQueue = "default"

// RollingPrefix begins the name of every rolling job; explicit jobs may not use it.
const RollingPrefix = "auto-"

// ErrName is returned when a queue or job name is not 1 to 64 of A-Z, a-z, 0-9, "_" and "-".
var ErrName = errors.New("name must be 1 to 64 characters of A-Z a-z 0-9 _ -")

// CheckName tells whether name can be a queue or a job: nil, or an error that wraps [ErrName] and quotes the name.
func CheckName(name string) error {
	if IsToken(name) {
		return nil
	}
	if len(name) > 2*MaxNameBytes {
		name = name[:2*MaxNameBytes] + "…"
	}
	return fmt.Errorf("check name %q: %w", name, ErrName)
}

// IsToken reports whether s is 1 to 64 characters of A-Z, a-z, 0-9, "_" and "-", and so can be one token of a subject.
func IsToken(s string) bool {
	if s == "" || len(s) > MaxNameBytes {
		return false
	}
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return true
}

func isTokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// IsRolling reports whether job is the name of a rolling job, which batchbus names itself.
func IsRolling(job string) bool { return strings.HasPrefix(job, RollingPrefix) }

// RowToken is the last token of a row's result subject: customID itself when [IsToken], else "~" and the hex SHA-256 of it. Two different
// ids never share a token, since "~" is no token character.
func RowToken(customID string) string {
	if IsToken(customID) {
		return customID
	}
	sum := sha256.Sum256([]byte(customID))
	return "~" + hex.EncodeToString(sum[:])
}

// CompareNumbers orders the numbers of batches: "2" before "10", and "5-1", the first follow-up of batch 5, behind "5" and before "6".
func CompareNumbers(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "-"), strings.Split(b, "-"), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
}
