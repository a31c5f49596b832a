package simulator

import (
	"encoding/hex"
	"strings"
)

// parseUUID reads the spellings the provider accepts (hyphenated, simple, braced, urn) and returns the
// hyphenated lower-case one. A prefix such as "batch_" is malformed.
func parseUUID(s string) (string, bool) {
	if len(s) == 45 && strings.EqualFold(s[:9], "urn:uuid:") {
		s = s[9:]
	} else if len(s) == 38 && s[0] == '{' && s[37] == '}' {
		s = s[1:37]
	}
	if len(s) == 36 {
		if s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
			return "", false
		}
		s = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	if len(s) != 32 {
		return "", false
	}
	if _, err := hex.DecodeString(s); err != nil {
		return "", false
	}
	s = strings.ToLower(s)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:], true
}
