package doubleword

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// DefaultWebhookTolerance is how far a webhook's timestamp may be from the own clock.
const DefaultWebhookTolerance = 5 * time.Minute

// Sentinels of webhooks.
var (
	// ErrWebhookSecret is returned when a signing secret is not "whsec_" and base64 of at least 16 bytes.
	ErrWebhookSecret = errors.New("signing secret is not whsec_ and base64 of at least 16 bytes")
	// ErrWebhookSignature is returned when a webhook is not signed with the secret, or lacks a header of the signature.
	ErrWebhookSignature = errors.New("webhook is not signed with the secret")
	// ErrWebhookTime is returned when a webhook is signed, and its timestamp is too old or too new: somebody may be replaying it.
	ErrWebhookTime = errors.New("webhook is too old or too new")
	// ErrWebhookBody is returned when a webhook is signed, and its body is not the promised JSON.
	ErrWebhookBody = errors.New("webhook is not the promised JSON")
)

// Webhook is what the provider says in a webhook. It is a hint that may come late, twice or never: the batch itself tells how it is.
type Webhook struct {
	// ID is the same whenever the event is sent again.
	ID string
	// Type is "batch.completed", "batch.failed" or another.
	Type string
	// BatchID is the batch's id as the API takes it, without the prefix that webhooks add; empty when the event is about no batch.
	BatchID string
}

// WebhookVerifier tells genuine webhooks from others. It is safe for concurrent use.
type WebhookVerifier struct {
	keys      [][]byte
	tolerance time.Duration
}

// NewWebhookVerifier returns a verifier for a signing secret, as the provider shows it once ("whsec_…"), or several of them separated by white
// space, which a rotation needs for a while. Tolerance 0 is [DefaultWebhookTolerance]. The error is [ErrWebhookSecret], and shows nothing.
func NewWebhookVerifier(secret Secret, tolerance time.Duration) (*WebhookVerifier, error) {
	v := &WebhookVerifier{tolerance: tolerance}
	if v.tolerance <= 0 {
		v.tolerance = DefaultWebhookTolerance
	}
	for one := range strings.FieldsSeq(secret.reveal()) {
		encoded, prefixed := strings.CutPrefix(one, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !prefixed || err != nil || len(key) < 16 {
			return nil, ErrWebhookSecret
		}
		v.keys = append(v.keys, key)
	}
	if len(v.keys) == 0 {
		return nil, ErrWebhookSecret
	}
	return v, nil
}

// Verify checks signature and timestamp of a webhook and reads it: body is its body, byte for byte. The errors are [ErrWebhookSignature],
// [ErrWebhookTime] and [ErrWebhookBody]. It is pure.
func (v *WebhookVerifier) Verify(header http.Header, body []byte, now time.Time) (Webhook, error) {
	id, stamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	if id == "" || !v.signed(id+"."+stamp+".", body, header.Get("Webhook-Signature")) {
		return Webhook{}, ErrWebhookSignature
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > v.tolerance {
		return Webhook{}, ErrWebhookTime
	}
	var said struct {
		Type string `json:"type"`
		Data struct {
			BatchID looseString `json:"batch_id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return Webhook{}, fmt.Errorf("%w: %w", ErrWebhookBody, err)
	}
	return Webhook{ID: id, Type: said.Type, BatchID: strings.TrimPrefix(string(said.Data.BatchID), "batch_")}, nil
}

// signed reports whether one of the signatures, "v1,<base64>" separated by blanks, is of one of the keys. All are compared, each in constant
// time.
func (v *WebhookVerifier) signed(head string, body []byte, signatures string) bool {
	found := false
	for _, key := range v.keys {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(head)) // a hash never fails
		_, _ = mac.Write(body)
		want := mac.Sum(nil)
		for signature := range strings.FieldsSeq(signatures) {
			encoded, known := strings.CutPrefix(signature, "v1,")
			got, err := base64.StdEncoding.DecodeString(encoded)
			if known && err == nil && hmac.Equal(got, want) {
				found = true
			}
		}
	}
	return found
}
