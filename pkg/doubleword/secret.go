package doubleword

import "fmt"

const redacted = "[redacted]"

// Secret holds an API key and shows it to nobody: every way of printing or encoding it gives "[redacted]". Only this package
// reads it. The zero value is no key. It is safe for concurrent use.
type Secret struct {
	// A pointer, because fmt prints unexported fields of an outer struct without asking their methods.
	value *string
}

// NewSecret returns a Secret holding value exactly as given; an empty value gives the zero Secret.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// IsZero reports whether there is no key.
func (s Secret) IsZero() bool { return s.value == nil }

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (s Secret) GoString() string { return redacted }

// Format prints "[redacted]" whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalJSON returns the JSON string "[redacted]".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText returns "[redacted]".
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

func (s Secret) reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}
