package gateway

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
)

// Callers say which key may call, and for which queue. It is safe for concurrent use and holds hashes only.
type Callers struct{ entries []callerEntry }

type callerEntry struct {
	digest [sha256.Size]byte
	queue  string
}

// hashPrefix begins a key that is written as its SHA-256.
const hashPrefix = "sha256:"

// ParseCallers reads a JSON object: each key, or "sha256:" and the hexadecimal SHA-256 of it, and the name of its queue. No error holds a key.
func ParseCallers(text []byte) (*Callers, error) {
	var queues map[string]string
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&queues); err != nil {
		return nil, errors.New("read callers: the text is no JSON object of keys and queues") // the decoder's own words may quote a key
	}
	c := &Callers{}
	for key, queue := range queues {
		entry := callerEntry{queue: queue}
		if err := events.CheckName(queue); err != nil {
			return nil, fmt.Errorf("read callers: %w", err)
		}
		if text, hashed := strings.CutPrefix(key, hashPrefix); hashed {
			digest, err := hex.DecodeString(text)
			if err != nil || len(digest) != sha256.Size {
				return nil, fmt.Errorf("read callers: a key of queue %s begins with %s and is no hexadecimal SHA-256", queue, hashPrefix)
			}
			copy(entry.digest[:], digest)
		} else if entry.digest = sha256.Sum256([]byte(key)); key == "" {
			return nil, errors.New("read callers: a key is empty")
		}
		c.entries = append(c.entries, entry)
	}
	if len(c.entries) == 0 {
		return nil, errors.New("read callers: there is no key")
	}
	return c, nil
}

// queueOf is the queue that a key may call for. It takes the same time for every key.
func (c *Callers) queueOf(key string) (queue string, ok bool) {
	digest := sha256.Sum256([]byte(key))
	for i := range c.entries {
		if subtle.ConstantTimeCompare(digest[:], c.entries[i].digest[:]) == 1 {
			queue, ok = c.entries[i].queue, true
		}
	}
	return queue, ok
}

// caller is who calls: a name that is the same for the same key on the same bus and tells nothing of it, and the queue.
type caller struct{ id, queue string }

// authenticate tells who calls.
func (s *Service) authenticate(r *http.Request) (caller, *fault) {
	key := keyOf(r.Header)
	queue := s.cfg.Queue
	if s.cfg.Callers != nil {
		var ok bool
		if queue, ok = s.cfg.Callers.queueOf(key); !ok {
			return caller{}, &fault{
				status: http.StatusUnauthorized, code: "invalid_api_key", final: true,
				message: "the gateway does not know this API key; it is one of the gateway's own, not the provider's",
			}
		}
	}
	return caller{id: hashOf("caller", s.cfg.BusID, key), queue: queue}, nil
}

// keyOf is the key as OpenAI's programs send it, or Anthropic's.
func keyOf(h http.Header) string {
	scheme, key, _ := strings.Cut(h.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	return h.Get("X-Api-Key")
}

// hashOf is 128 bits, in hexadecimal, of what the parts are together; no other parts have the same.
func hashOf(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
