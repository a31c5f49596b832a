package rows

import (
	"strconv"
	"strings"
)

// maxWireID is the provider's limit on a custom_id, in bytes (doubleword-contract.md 2.4).
const maxWireID = 64

// WireID returns the custom_id a row has at the provider: its place in the manifest (0 or more), a tilde, and the
// custom_id itself where that is printable ASCII (0x20 to 0x7e) and the whole fits 64 bytes; else nothing follows the
// tilde, and the row is found by its place alone. Wire ids of one batch differ, since their places do.
func WireID(place int, customID string) string {
	head := strconv.Itoa(place) + "~"
	if len(head)+len(customID) > maxWireID || !isPrintable(customID) {
		return head
	}
	return head + customID
}

// ParseWireID is the strict inverse of [WireID]: ok only for what WireID makes, so that an id nobody sent is not
// taken for a row's. rest is empty when the wire id does not hold the custom_id.
func ParseWireID(id string) (place int, rest string, ok bool) {
	digits, rest, found := strings.Cut(id, "~")
	place, err := strconv.Atoi(digits)
	if !found || err != nil || place < 0 || strconv.Itoa(place) != digits {
		return 0, "", false
	}
	if len(id) > maxWireID || !isPrintable(rest) {
		return 0, "", false
	}
	return place, rest, true
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
