package doubleword_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// signing is a key of 32 bytes.
func signing(of byte) []byte { return []byte(strings.Repeat(string(rune(of)), 32)) }

func whsec(key []byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(key) }

func sign(key []byte, id, stamp, body string) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(id + "." + stamp + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

const hooked = `{"type":"batch.completed","timestamp":"2026-11-30T02:00:00Z","data":{"batch_id":"batch_0123e4b7-0000-4000-8000-000000000000"}}`

func TestAWebhookIsTakenOnlyWithItsSignatureAndInItsTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	stamp := strconv.FormatInt(now.Unix(), 10)
	at := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	good := sign(signing('k'), "evt", stamp, hooked)
	for _, c := range []struct {
		name, id, stamp, signature, body string
		want                             error
	}{
		{"a genuine one", "evt", stamp, good, hooked, nil},
		{"one of several signatures", "evt", stamp, "v1,AAAA v2,x " + good, hooked, nil},
		{"the older secret of a rotation", "evt", stamp, sign(signing('o'), "evt", stamp, hooked), hooked, nil},
		{"four minutes late", "evt", at(-4 * time.Minute), sign(signing('k'), "evt", at(-4*time.Minute), hooked), hooked, nil},
		{"another secret", "evt", stamp, sign(signing('x'), "evt", stamp, hooked), hooked, doubleword.ErrWebhookSignature},
		{"another body", "evt", stamp, good, hooked + " ", doubleword.ErrWebhookSignature},
		{"another id", "evt2", stamp, good, hooked, doubleword.ErrWebhookSignature},
		{"another time", "evt", at(time.Second), good, hooked, doubleword.ErrWebhookSignature},
		{"another version", "evt", stamp, strings.Replace(good, "v1,", "v2,", 1), hooked, doubleword.ErrWebhookSignature},
		{"no signature", "evt", stamp, "", hooked, doubleword.ErrWebhookSignature},
		{"no id", "", stamp, sign(signing('k'), "", stamp, hooked), hooked, doubleword.ErrWebhookSignature},
		{"an old one", "evt", at(-6 * time.Minute), sign(signing('k'), "evt", at(-6*time.Minute), hooked), hooked, doubleword.ErrWebhookTime},
		{"one of the future", "evt", at(6 * time.Minute), sign(signing('k'), "evt", at(6*time.Minute), hooked), hooked, doubleword.ErrWebhookTime},
		{"no time", "evt", "", sign(signing('k'), "evt", "", hooked), hooked, doubleword.ErrWebhookTime},
		{"no JSON", "evt", stamp, sign(signing('k'), "evt", stamp, "<html>"), "<html>", doubleword.ErrWebhookBody},
	} {
		v, err := doubleword.NewWebhookVerifier(doubleword.NewSecret(whsec(signing('k'))+"\n"+whsec(signing('o'))+"\n"), 0)
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		header.Set("webhook-id", c.id)
		header.Set("webhook-timestamp", c.stamp)
		header.Set("webhook-signature", c.signature)
		got, err := v.Verify(header, []byte(c.body), now)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err == nil && got != (doubleword.Webhook{ID: "evt", Type: "batch.completed", BatchID: "0123e4b7-0000-4000-8000-000000000000"}) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestASigningSecretHasItsShape(t *testing.T) {
	t.Parallel()
	short := "whsec_" + base64.StdEncoding.EncodeToString([]byte("short"))
	for _, secret := range []string{"", "  ", "secret", short, "whsec_%%%", strings.TrimPrefix(whsec(signing('k')), "whsec_"), whsec(signing('k')) + " bad"} {
		v, err := doubleword.NewWebhookVerifier(doubleword.NewSecret(secret), 0)
		if v != nil || !errors.Is(err, doubleword.ErrWebhookSecret) {
			t.Errorf("%q: %v", secret, err)
		}
		if err != nil && len(secret) > 6 && strings.Contains(err.Error(), secret[6:]) {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}
