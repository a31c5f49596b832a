package rows

import "cmp"

// Default limits of [Rules]. A zero field of a Rules means the default.
const (
	// DefaultMaxRowBytes is 10 MiB, the provider's default cap on one row's body (doubleword-contract.md 2.2).
	DefaultMaxRowBytes = 10 << 20
	// DefaultMaxDepth is 127: serde_json refuses the 128th level, and the envelope is the first.
	DefaultMaxDepth = 127
	// DefaultMaxIDBytes is 1024, the longest custom_id batchbus carries (design.md 5.1).
	DefaultMaxIDBytes = 1024
	// DefaultMaxModelBytes is 256, the longest model name batchbus groups by (design.md 5.1).
	DefaultMaxModelBytes = 256
)

// Rules are the settings rows are judged by. A Rules is only read, so one value may serve many goroutines.
type Rules struct {
	DefaultModel  string    // DefaultModel is spliced into a body without a model (absent, null or empty).
	Model         string    // Model overrides the model of every row, whatever the body says. Empty: no override.
	Models        []string  // Models are the models that a row may have in the end. Empty: every one.
	Set           []Setting // Set are members that every body gets, in this order, before the row is judged.
	URLs          []string  // URLs are the allowed values of url, compared exactly. Empty: the provider's five.
	MaxRowBytes   int       // MaxRowBytes is the longest line, and the longest body after a splice, in bytes.
	MaxDepth      int       // MaxDepth counts nested objects and arrays, the envelope being level 1.
	MaxIDBytes    int       // MaxIDBytes bounds the decoded custom_id, in bytes of UTF-8.
	MaxModelBytes int       // MaxModelBytes bounds the effective model, in bytes of UTF-8.
}

// DefaultRules returns the rules of an untouched queue: the limits above, the five urls of doubleword-contract.md
// 2.4.4, no model default and no override. The caller owns the result.
func DefaultRules() Rules {
	return Rules{
		URLs: []string{
			"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages",
		},
		MaxRowBytes:   DefaultMaxRowBytes,
		MaxDepth:      DefaultMaxDepth,
		MaxIDBytes:    DefaultMaxIDBytes,
		MaxModelBytes: DefaultMaxModelBytes,
	}
}

// filled returns r itself when nothing is unset, else a copy with the defaults in place of zero fields.
func (r *Rules) filled() *Rules {
	def := DefaultRules
	if r == nil {
		all := def()
		return &all
	}
	if len(r.URLs) > 0 && r.MaxRowBytes > 0 && r.MaxDepth > 0 && r.MaxIDBytes > 0 && r.MaxModelBytes > 0 {
		return r
	}
	full := *r
	if len(full.URLs) == 0 {
		full.URLs = def().URLs
	}
	full.MaxRowBytes = cmp.Or(max(full.MaxRowBytes, 0), DefaultMaxRowBytes)
	full.MaxDepth = cmp.Or(max(full.MaxDepth, 0), DefaultMaxDepth)
	full.MaxIDBytes = cmp.Or(max(full.MaxIDBytes, 0), DefaultMaxIDBytes)
	full.MaxModelBytes = cmp.Or(max(full.MaxModelBytes, 0), DefaultMaxModelBytes)
	return &full
}
