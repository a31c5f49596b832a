package doubleword

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultBaseURL is the provider's public address.
const DefaultBaseURL = "https://api.doubleword.ai/v1"

// Defaults of [Config].
const (
	// DefaultCallTimeout is for one attempt of a small JSON call.
	DefaultCallTimeout = 60 * time.Second
	// DefaultCreateTimeout is long because the provider scans every row of the file before it answers.
	DefaultCreateTimeout = 5 * time.Minute
	// DefaultIdleTimeout is how long a transfer may stand still.
	DefaultIdleTimeout = 2 * time.Minute
	// DefaultRetryTimeout bounds the repeats inside one safe call; longer waits belong to the caller, who can show them.
	DefaultRetryTimeout = 15 * time.Second
)

// ErrInsecureURL is returned when the base URL would carry the key over plain http to a host that is not loopback.
var ErrInsecureURL = errors.New("base url is not https")

// Config says how to reach the provider. Zero values mean the default; Key is the only field that has none.
type Config struct {
	// BaseURL ends before "/files", like DefaultBaseURL. https, or http to localhost or a loopback address.
	BaseURL string
	// Key is sent as a bearer token.
	Key Secret
	// Transport replaces the client's own transport. It sees the key, so it must not send requests elsewhere, and it must not repeat
	// them, or CreateBatch is no longer one attempt.
	Transport http.RoundTripper
	// CallTimeout bounds one attempt of a small JSON call, from the dial to the last byte.
	CallTimeout time.Duration
	// CreateTimeout bounds CreateBatch, from the dial to the last byte.
	CreateTimeout time.Duration
	// IdleTimeout ends an upload when no byte has moved for so long, and a download when less than a kibibyte has.
	IdleTimeout time.Duration
	// RetryTimeout bounds the repeats inside one safe call, waits included; negative means no repeats.
	RetryTimeout time.Duration
	// UserAgent is sent as it is.
	UserAgent string
	// OrganizationID, if not empty, chooses the organisation of a personal key; it decides which files and batches are visible.
	OrganizationID string
	// Budget, if not nil, bounds the calls of all clients that share it.
	Budget *Budget
	// Capabilities overrides what the provider is taken to be able to do; nil means DefaultCapabilities.
	Capabilities *Capabilities
}

// Capabilities says which parts of the contract a provider keeps, as data for those who plan by it.
type Capabilities struct {
	// ListByMetadata: a token in a batch's metadata finds it by Batches(Search).
	ListByMetadata bool
	// DeleteFile: a deleted input file can no longer become a batch.
	DeleteFile bool
	// SkipCursor: Content honours ContentQuery.Skip.
	SkipCursor bool
	// EarlyOutput: output and error files can be read while the batch runs.
	EarlyOutput bool
}

// DefaultCapabilities returns what the Doubleword server does according to its source: everything.
func DefaultCapabilities() Capabilities {
	return Capabilities{ListByMetadata: true, DeleteFile: true, SkipCursor: true, EarlyOutput: true}
}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	c.CallTimeout = orDefault(c.CallTimeout, DefaultCallTimeout)
	c.CreateTimeout = orDefault(c.CreateTimeout, DefaultCreateTimeout)
	c.IdleTimeout = orDefault(c.IdleTimeout, DefaultIdleTimeout)
	c.RetryTimeout = orDefault(c.RetryTimeout, DefaultRetryTimeout)
	if c.UserAgent == "" {
		c.UserAgent = "batchbus"
	}
	if c.Capabilities == nil {
		all := DefaultCapabilities()
		c.Capabilities = &all
	}
	return c
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

// validate joins every fault, so that a user mends them in one go.
func (c Config) validate() (*url.URL, error) {
	base, err := parseBase(c.BaseURL)
	faults := []error{err, checkKey(c.Key)}
	for name, d := range map[string]time.Duration{
		"call timeout": c.CallTimeout, "create timeout": c.CreateTimeout, "idle timeout": c.IdleTimeout,
	} {
		if d < 0 {
			faults = append(faults, fmt.Errorf("%s is negative: %s", name, d))
		}
	}
	if !isHeaderText(c.UserAgent) || !isHeaderText(c.OrganizationID) {
		faults = append(faults, errors.New("user agent or organization id is not printable ASCII"))
	}
	return base, errors.Join(faults...)
}

func parseBase(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(raw, "/"))
	if err != nil {
		// The parse error repeats the URL, which may hold a password.
		return nil, errors.New("base url cannot be parsed")
	}
	switch {
	case u.User != nil:
		return nil, errors.New("base url holds a user or password")
	case u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("base url must be scheme, host and path, like " + DefaultBaseURL)
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return u, nil
	}
	return nil, fmt.Errorf("%w: %s://%s", ErrInsecureURL, u.Scheme, u.Host)
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func checkKey(key Secret) error {
	switch value := key.reveal(); {
	case value == "":
		return errors.New("api key is missing")
	case !isHeaderText(value) || strings.Contains(value, " "):
		return errors.New("api key holds white space or characters outside printable ASCII")
	}
	return nil
}

func isHeaderText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
