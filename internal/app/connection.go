package app

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/natscontext"
)

// DefaultNATS is where a bus is looked for when nothing else is said.
const DefaultNATS = "nats://127.0.0.1:4222"

// A connection that a dead machine holds is given up after three pings without an answer, a minute in all.
const (
	dialTimeout      = 5 * time.Second
	pingInterval     = 20 * time.Second
	pingsOutstanding = 3
)

// ConnectionFlags say how to reach a bus that is not ours. The zero value reaches [DefaultNATS] without credentials.
type ConnectionFlags struct {
	NATS    string `name:"nats" placeholder:"URLS" help:"URLs of the NATS servers, comma separated: nats, tls, ws or wss. Default nats://127.0.0.1:4222."`
	Creds   string `placeholder:"FILE" help:"NATS credentials file. Default: none."`
	NKey    string `name:"nkey" placeholder:"FILE" help:"File that holds a NATS nkey seed. Default: none."`
	TLSCA   string `name:"tls-ca" placeholder:"FILE" help:"Certificate authorities that the servers are trusted by, PEM. Default: the system's."`
	TLSCert string `name:"tls-cert" placeholder:"FILE" help:"Client certificate, PEM; with --tls-key. Default: none."`
	TLSKey  string `name:"tls-key" placeholder:"FILE" help:"Key of the client certificate, PEM. Default: none."`
	Context string `placeholder:"NAME" help:"Context of the nats command line tool, by name or absolute path, in place of all of the above. Default: none."`

	// OnError, when set, is told what goes wrong on an open connection beside any call: a missing permission, a lost connection, a slow
	// reader. It is called from the connection's own goroutine and must not block.
	OnError func(error) `kong:"-"`
}

// Given tells whether any of the flags is set: whether a bus was asked for.
func (f *ConnectionFlags) Given() bool { return f.Context != "" || f.NATS != "" || f.anyFile() }

func (f *ConnectionFlags) anyFile() bool {
	return f.Creds != "" || f.NKey != "" || f.TLSCA != "" || f.TLSCert != "" || f.TLSKey != ""
}

// Check reports every fault that shows without connecting, joined: files that are missing or hold something else, URLs, flags that
// exclude each other.
func (f *ConnectionFlags) Check() error {
	if f.Context != "" {
		return f.checkContext()
	}
	_, urlErr := f.servers()
	_, err := f.options()
	faults := []error{urlErr, err}
	if f.Creds != "" && f.NKey != "" {
		faults = append(faults, errors.New("--creds and --nkey exclude each other"))
	}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		faults = append(faults, errors.New("--tls-cert and --tls-key need each other"))
	}
	return errors.Join(faults...)
}

// Dial connects under the given client name and returns once the server has answered, within seconds. From then on the connection comes
// back by itself for ever, and after refused credentials too: they may be replaced in their file. It is safe for concurrent use.
func (f *ConnectionFlags) Dial(name string) (*nats.Conn, error) {
	if f.Context != "" {
		return f.dialContext(name)
	}
	servers, err := f.servers()
	if err != nil {
		return nil, err
	}
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(servers, append(options, f.common(name)...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", shown(servers), err)
	}
	return nc, nil
}

// noBuffer keeps what is sent while the connection is lost from being stored up and arriving minutes late, and many times over, when it
// comes back: whoever sends hears of it at once and tries again.
const noBuffer = -1

// common are the options of every connection.
func (f *ConnectionFlags) common(name string) []nats.Option {
	report := func(err error) {
		if f.OnError != nil && err != nil {
			f.OnError(err)
		}
	}
	return []nats.Option{
		nats.Name(name), nats.Timeout(dialTimeout), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(pingsOutstanding), nats.ReconnectBufSize(noBuffer),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { report(err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil: we closed it
				report(fmt.Errorf("lose connection to the bus: %w", err))
			}
		}),
	}
}

// servers are the URLs, each with a scheme.
func (f *ConnectionFlags) servers() (string, error) {
	list := f.NATS
	if list == "" {
		list = DefaultNATS
	}
	var faults []error
	urls := strings.Split(list, ",")
	for i, text := range urls {
		if text = strings.TrimSpace(text); !strings.Contains(text, "://") {
			text = "nats://" + text
		}
		urls[i] = text
		faults = append(faults, checkServer(i, text))
	}
	return strings.Join(urls, ","), errors.Join(faults...)
}

// checkServer never repeats a URL that it cannot read: it may hold a password.
func checkServer(i int, text string) error {
	parsed, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("--nats: URL %d cannot be read", i+1)
	}
	switch parsed.Scheme {
	case "nats", "tls", "ws", "wss":
	default:
		return fmt.Errorf("--nats: URL %d: %q is not nats, tls, ws or wss", i+1, parsed.Scheme)
	}
	if parsed.Hostname() == "" {
		return fmt.Errorf("--nats: URL %d names no host", i+1)
	}
	return nil
}

// shown is a list of URLs without users, passwords and tokens.
func shown(servers string) string {
	urls := strings.Split(servers, ",")
	for i, text := range urls {
		if parsed, err := url.Parse(text); err == nil {
			parsed.User = nil
			urls[i] = parsed.String()
		}
	}
	return strings.Join(urls, ",")
}

// options are those of credentials and TLS. Each is tried out, so that what is wrong with a file is known before anything is connected.
func (f *ConnectionFlags) options() ([]nats.Option, error) {
	var options []nats.Option
	var faults []error
	add := func(flag string, option nats.Option, err error) {
		scratch := nats.GetDefaultOptions()
		if err == nil {
			err = tryOut(option, &scratch)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", flag, err))
		}
		options = append(options, option)
	}
	if f.Creds != "" {
		add("--creds", nats.UserCredentials(f.Creds), nil)
	}
	if f.NKey != "" {
		option, err := nats.NkeyOptionFromSeed(f.NKey)
		add("--nkey", option, err)
	}
	if f.TLSCA != "" {
		add("--tls-ca", nats.RootCAs(f.TLSCA), nil)
	}
	if f.TLSCert != "" && f.TLSKey != "" {
		add("--tls-cert, --tls-key", nats.ClientCert(f.TLSCert, f.TLSKey), nil)
	}
	return options, errors.Join(faults...)
}

// tryOut applies an option to options that are thrown away, and reads the credentials that it may have brought.
func tryOut(option nats.Option, scratch *nats.Options) error {
	err := option(scratch)
	if err == nil && scratch.UserJWT != nil {
		if _, err = scratch.UserJWT(); err == nil {
			_, err = scratch.SignatureCB([]byte("nonce"))
		}
	}
	return err //nolint:wrapcheck // the caller names the flag
}

// errTriedOut stops the library before it connects.
var errTriedOut = errors.New("tried out")

func (f *ConnectionFlags) checkContext() error {
	var faults []error
	if f.NATS != "" || f.anyFile() {
		faults = append(faults, errors.New("--context excludes --nats, --creds, --nkey and --tls-…: the context says all of it"))
	}
	_, _, err := natscontext.Connect(f.Context, func(*nats.Options) error { return errTriedOut })
	if err != nil && !errors.Is(err, errTriedOut) {
		faults = append(faults, fmt.Errorf("--context: %w", err))
	}
	return errors.Join(faults...)
}

func (f *ConnectionFlags) dialContext(name string) (*nats.Conn, error) {
	nc, settings, err := natscontext.Connect(f.Context, f.common(name)...)
	if err != nil {
		return nil, fmt.Errorf("connect by context %s: %w", f.Context, err)
	}
	if settings.JSDomain != "" || settings.JSAPIPrefix != "" {
		nc.Close()
		return nil, fmt.Errorf("connect by context %s: JetStream domains and API prefixes are not supported", f.Context)
	}
	return nc, nil
}
