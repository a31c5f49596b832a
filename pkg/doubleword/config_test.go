package doubleword_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

func TestSecretShowsItselfToNobody(t *testing.T) {
	t.Parallel()
	secret := doubleword.NewSecret(testKey)
	hidden := struct {
		inner struct{ key doubleword.Secret }
	}{}
	hidden.inner.key = secret
	client, err := doubleword.New(doubleword.Config{Key: secret})
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{secret.String(), secret.GoString()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, secret), fmt.Sprintf(verb, hidden), fmt.Sprintf(verb, client),
			fmt.Sprintf(verb, doubleword.Config{Key: secret}))
	}
	asJSON, err := json.Marshal(map[string]any{"key": secret, "ptr": &secret})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := secret.MarshalText()
	hexKey := fmt.Sprintf("%x", testKey)
	for _, s := range append(shown, string(asJSON), string(text)) {
		if strings.Contains(s, testKey) || strings.Contains(s, hexKey) {
			t.Errorf("shows the key: %s", s)
		}
	}
	if string(asJSON) != `{"key":"[redacted]","ptr":"[redacted]"}` {
		t.Errorf("json = %s", asJSON)
	}
	if secret.IsZero() || !doubleword.NewSecret("").IsZero() {
		t.Error("IsZero is wrong")
	}
}

func TestNewAcceptsOnlyAnAddressThatKeepsTheKey(t *testing.T) {
	t.Parallel()
	good := []string{
		"", "https://api.doubleword.ai/v1/", "https://10.0.0.1:8443/x", "http://localhost:8080/v1", "http://127.0.0.1/v1", "http://127.9.9.9", "http://[::1]:1",
	}
	for _, base := range good {
		if _, err := doubleword.New(doubleword.Config{BaseURL: base, Key: doubleword.NewSecret(testKey)}); err != nil {
			t.Errorf("New(%q) = %v", base, err)
		}
	}
	for _, base := range []string{"http://api.doubleword.ai/v1", "http://10.0.0.1", "http://localhost.example.com", "http://127.0.0.1.example.com", "ftp://localhost"} {
		_, err := doubleword.New(doubleword.Config{BaseURL: base, Key: doubleword.NewSecret(testKey)})
		if !errors.Is(err, doubleword.ErrInsecureURL) || doubleword.ClassOf(err) != doubleword.Permanent {
			t.Errorf("New(%q) = %v, want ErrInsecureURL", base, err)
		}
	}
	for _, base := range []string{"https://user:" + testKey + "@host/v1", "https://host/v1?k=v", "https://host/#f", "/v1", "https://", "https://h\x7f" + testKey} {
		_, err := doubleword.New(doubleword.Config{BaseURL: base, Key: doubleword.NewSecret(testKey)})
		if err == nil || strings.Contains(err.Error(), testKey) {
			t.Errorf("New(%q) = %v, want an error without the password", base, err)
		}
	}
}

func TestNewNamesEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	_, err := doubleword.New(doubleword.Config{BaseURL: "http://example.com", IdleTimeout: -1, UserAgent: "a\nb"})
	for _, want := range []string{"not https", "api key is missing", "idle timeout is negative", "user agent"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	for _, key := range []string{"abc\n", " abc", "a b", "é"} {
		_, err := doubleword.New(doubleword.Config{Key: doubleword.NewSecret(key)})
		if err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

func TestCapabilitiesCanBeOverridden(t *testing.T) {
	t.Parallel()
	config := doubleword.Config{Key: doubleword.NewSecret(testKey)}
	all, err := doubleword.New(config)
	if err != nil {
		t.Fatal(err)
	}
	config.Capabilities = &doubleword.Capabilities{SkipCursor: true}
	some, err := doubleword.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if all.Capabilities() != doubleword.DefaultCapabilities() || some.Capabilities() != *config.Capabilities {
		t.Errorf("got %+v and %+v", all.Capabilities(), some.Capabilities())
	}
}
