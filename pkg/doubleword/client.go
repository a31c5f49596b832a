package doubleword

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls the provider. It is safe for concurrent use and holds nothing but idle connections.
type Client struct {
	config  Config
	account account
	base    *url.URL
	http    *http.Client
}

// New returns a client, or every fault of the configuration joined; [ErrInsecureURL] is among them when the key would travel in
// the clear. It does not talk to the provider.
func New(config Config) (*Client, error) {
	config = config.withDefaults()
	base, err := config.validate()
	if err != nil {
		return nil, fmt.Errorf("configure doubleword client: %w", err)
	}
	if config.Transport == nil {
		config.Transport = NewTransport()
	}
	// ErrUseLastResponse: a redirect is an answer like any other, so the key never follows it.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		config: config, account: accountOf(&config), base: base,
		http: &http.Client{Transport: config.Transport, CheckRedirect: stay},
	}, nil
}

// Capabilities returns what the provider is taken to be able to do.
func (c *Client) Capabilities() Capabilities { return *c.config.Capabilities }

// CloseIdleConnections closes connections that no call uses. The client stays usable.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// NewTransport returns a new one of the transport that a client uses by default, for who wants to wrap it. It sends plain http past any proxy,
// asks for no compression, and repeats nothing.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 proxyForHTTPS,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // bytes are sacred, and the provider compresses nothing
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// proxyForHTTPS keeps plain http away from any proxy: only inside TLS is the key hidden from it.
func proxyForHTTPS(r *http.Request) (*url.URL, error) {
	if r.URL.Scheme != "https" {
		return nil, nil //nolint:nilnil // net/http's way to say: no proxy
	}
	return http.ProxyFromEnvironment(r) //nolint:wrapcheck // net/http wraps it
}

// call describes one request.
type call struct {
	method  string
	pattern string // with {id} in the place of the id, for people
	id      string
	query   url.Values
	body    io.Reader
	header  http.Header
	does    effect
}

func (k call) route() string { return k.method + " " + k.pattern }

// request makes a request that nothing below can send twice: it has no GetBody.
func (c *Client) request(ctx context.Context, k call) (*http.Request, error) {
	path := k.pattern
	if strings.Contains(path, "{id}") {
		if k.id == "" || k.id == "." || k.id == ".." {
			return nil, &Error{Route: k.route(), Class: Permanent, cause: ErrBadID}
		}
		path = strings.Replace(path, "{id}", url.PathEscape(k.id), 1)
	}
	target := c.base.Scheme + "://" + c.base.Host + c.base.EscapedPath() + path
	if len(k.query) > 0 {
		target += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, target, k.body)
	if err != nil {
		return nil, &Error{Route: k.route(), Class: Permanent, cause: fmt.Errorf("build request: %w", err)}
	}
	req.GetBody = nil
	if k.header != nil {
		req.Header = k.header.Clone()
	}
	req.Header.Set("Authorization", "Bearer "+c.config.Key.reveal())
	req.Header.Set("User-Agent", c.config.UserAgent)
	req.Header.Set("Accept-Encoding", "identity")
	if c.config.OrganizationID != "" {
		req.Header.Set("X-Organization-Id", c.config.OrganizationID)
	}
	return req, nil
}

// begin waits for the place of one call in the budget, which the caller ends when the answer has been read. No timeout of the call runs
// meanwhile. An error says that nothing was sent.
func (c *Client) begin(ctx context.Context, k call) (*place, error) {
	return c.config.Budget.begin(ctx, c.account, k)
}

// send makes one attempt and returns a 2xx answer, whose body the caller closes, or an *Error.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	req, err := c.request(ctx, k)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, &Error{Route: k.route(), Class: Retryable, cause: fmt.Errorf("nothing sent: %w", context.Cause(ctx))}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.failed(k.route(), k.does, contextCause(ctx, err))
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		e := c.refused(k.route(), k.does, resp)
		c.config.Budget.learn(c.account, k, e)
		return nil, e
	}
	if encoding := strings.TrimSpace(resp.Header.Get("Content-Encoding")); encoding != "" && !strings.EqualFold(encoding, "identity") {
		_ = resp.Body.Close()
		shown := cutUTF8(strings.ToValidUTF8(encoding, "\uFFFD"), maxEncoding)
		e := c.failed(k.route(), k.does, fmt.Errorf("%w: Content-Encoding %q", ErrEncoded, shown))
		e.Status = resp.StatusCode
		return nil, e
	}
	return resp, nil
}

// maxEncoding bounds what is shown of an encoding's name.
const maxEncoding = 40

// answer is a JSON answer that knows whether it can be what was asked for.
type answer interface{ valid() bool }

// once makes one attempt at a small JSON call under timeout.
func once[T answer](ctx context.Context, c *Client, k call, timeout time.Duration) (T, error) {
	var none T
	place, err := c.begin(ctx, k)
	if err != nil {
		return none, err
	}
	defer place.end()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	defer cancel()
	resp, err := c.send(ctx, k) //nolint:bodyclose // decode closes it
	if err != nil {
		return none, err
	}
	return decode[T](c, k, resp)
}

// read makes a safe small call, repeating it for a while.
func read[T answer](ctx context.Context, c *Client, k call) (T, error) {
	var out T
	err := c.repeat(ctx, func() (err error) {
		out, err = once[T](ctx, c, k, c.config.CallTimeout)
		return err
	})
	return out, err
}
