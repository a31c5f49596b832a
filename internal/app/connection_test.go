package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/batchbus/batchbus/internal/app"
)

// bus starts a server that lets nobody in but whom the options name, and returns its URL without credentials.
func bus(t *testing.T, o server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	s, err := server.NewServer(&o)
	ok(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not answer")
	}
	return s.ClientURL()
}

// connects dials and says how it went.
func connects(t *testing.T, f *app.ConnectionFlags) error {
	t.Helper()
	ok(t, f.Check())
	nc, err := f.Dial("test")
	if err == nil {
		nc.Close()
	}
	return err
}

func TestEveryWayToConnect(t *testing.T) {
	user, err := nkeys.CreateUser()
	ok(t, err)
	public, err := user.PublicKey()
	ok(t, err)
	seed, err := user.Seed()
	ok(t, err)
	url := bus(t, server.Options{
		Nkeys: []*server.NkeyUser{{Nkey: public}},
		Users: []*server.User{{Username: "joe", Password: "hidden"}},
	})
	dir := t.TempDir()
	nkey := filepath.Join(dir, "seed.nk")
	ok(t, os.WriteFile(nkey, seed, 0o600))
	host := strings.TrimPrefix(url, "nats://")

	t.Setenv("XDG_CONFIG_HOME", dir)
	ok(t, os.MkdirAll(filepath.Join(dir, "nats", "context"), 0o700))
	writeContext := func(name, more string) {
		ok(t, os.WriteFile(filepath.Join(dir, "nats", "context", name+".json"),
			[]byte(`{"url":"`+url+`","user":"joe","password":"hidden"`+more+`}`), 0o600))
	}
	writeContext("mine", "")
	writeContext("elsewhere", `,"jetstream_domain":"leaf"`)

	for name, f := range map[string]*app.ConnectionFlags{
		"a password in the url":       {NATS: "nats://joe:hidden@" + host},
		"a url without a scheme":      {NATS: "joe:hidden@" + host},
		"the first server is not up":  {NATS: "nats://127.0.0.1:1, nats://joe:hidden@" + host},
		"an nkey":                     {NATS: url, NKey: nkey},
		"a context of the nats tool":  {Context: "mine"},
		"a context named by its path": {Context: filepath.Join(dir, "nats", "context", "mine.json")},
	} {
		if err := connects(t, f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, f := range map[string]*app.ConnectionFlags{
		"no credentials":     {NATS: url},
		"the wrong password": {NATS: "nats://joe:secret@" + host},
		"a JetStream domain": {Context: "elsewhere"},
	} {
		if err := connects(t, f); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryFaultOfAConnectionIsSaidAtOnceAndNoPassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	ok(t, os.WriteFile(empty, nil, 0o600))
	for _, c := range []struct {
		name  string
		flags app.ConnectionFlags
		parts []string
	}{
		{
			"files that are not there",
			app.ConnectionFlags{Creds: dir + "/c", NKey: dir + "/n", TLSCA: dir + "/a", TLSCert: dir + "/p", TLSKey: dir + "/k"},
			[]string{"--creds: ", "--nkey: ", "--tls-ca: ", "--tls-cert, --tls-key: ", "--creds and --nkey exclude"},
		},
		{"files that hold nothing", app.ConnectionFlags{Creds: empty, TLSCA: empty}, []string{"--creds: ", "--tls-ca: "}},
		{"a certificate without its key", app.ConnectionFlags{TLSCert: empty}, []string{"need each other"}},
		{
			"urls",
			app.ConnectionFlags{NATS: "http://u:secret@h,nats://,nats://u:secret@h:port"},
			[]string{`URL 1: "http"`, "URL 2 names no host", "URL 3 cannot be read"},
		},
		{"an unknown context beside a url", app.ConnectionFlags{Context: "no-such-context", NATS: "h"}, []string{"--context excludes", "no-such-context"}},
	} {
		err := c.flags.Check()
		for _, part := range c.parts {
			if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %q is not in: %v", c.name, part, err)
			}
		}
	}
}

func TestAMissingPermissionIsToldWhileConnected(t *testing.T) {
	t.Parallel()
	url := bus(t, server.Options{Users: []*server.User{{Username: "joe", Password: "hidden", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{"allowed"}},
	}}}})
	told := make(chan error, 1)
	f := app.ConnectionFlags{NATS: strings.Replace(url, "nats://", "nats://joe:hidden@", 1), OnError: func(err error) { told <- err }}
	nc, err := f.Dial("test")
	ok(t, err)
	defer nc.Close()
	ok(t, nc.Publish("forbidden", nil))
	if err := <-told; !strings.Contains(err.Error(), "forbidden") {
		t.Error(err)
	}
}
