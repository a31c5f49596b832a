package rows

import "crypto/sha256"

// HashID returns the first 128 bits of the SHA-256 of a custom_id, the form in which the planner's index keeps it.
func HashID(customID string) [16]byte { return first128([]byte(customID)) }

// HashRow returns the first 128 bits of the SHA-256 of a line as received (trimmed, not spliced): two rows are the
// same row exactly when their bytes are.
func HashRow(line []byte) [16]byte { return first128(line) }

func first128(b []byte) [16]byte {
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}
