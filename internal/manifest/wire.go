package manifest

import (
	"strings"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/rows"
)

// WireID is the custom_id under which a row goes to the provider: its place, and the row's own id where it fits and the policy does not
// hide it.
func WireID(place int, customID string, opaque bool) string {
	if opaque {
		customID = ""
	}
	return rows.WireID(place, customID)
}

// AppendLine appends the row's line of the input file, its newline included.
func AppendLine(dst []byte, place int, e *block.Entry, opaque bool) []byte {
	return rows.AppendLine(dst, WireID(place, e.CustomID, opaque), e.Tail)
}

// LineSize is the length of what [AppendLine] appends, for an entry whose payload may be absent.
func LineSize(place int, e *block.Entry, opaque bool) int64 {
	id := WireID(place, e.CustomID, opaque)
	escapes := strings.Count(id, `"`) + strings.Count(id, `\`)
	return int64(len(`{"custom_id":""`) + len(id) + escapes + e.Size + len("\n"))
}
