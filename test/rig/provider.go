//go:build unix

package rig

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// StartProvider starts the simulator.
func (d *Deployment) StartProvider() {
	d.t.Helper()
	flags := append([]string{"--listen=127.0.0.1:0", "--data=" + d.t.TempDir(), "--seed=7", "--sweep-interval=200ms"}, d.shape.Simulator...)
	cert := filepath.Join(d.t.TempDir(), "simulator.pem")
	if d.shape.Cluster {
		flags = append(flags, "--tls-cert="+cert, "--tls-key="+filepath.Join(d.t.TempDir(), "key.pem"))
		d.trust = []string{"SSL_CERT_FILE=" + cert}
	}
	fake := Launch(d.t, "simulator", nil, flags...)
	hello := regexp.MustCompile(`(https?://\S+)/v1`)
	Eventually(d.t, "the simulator listens", func() bool { return hello.MatchString(fake.Output()) })
	d.Fake, d.Direct.Provider = fake, hello.FindStringSubmatch(fake.Output())[1]
	if d.shape.Cluster {
		d.http = trusting(d.t, cert)
	}
}

// trusting is a client that trusts the certificate in the file.
func trusting(t testing.TB, cert string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
}

// Ledger is the provider's own book of what was asked of it and what it ran.
func (d *Deployment) Ledger() simulator.Ledger {
	d.t.Helper()
	request, err := http.NewRequestWithContext(Patiently(d.t), http.MethodGet, d.Direct.Provider+"/_simulator/ledger", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	reply, err := d.http.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer reply.Body.Close()
	var l simulator.Ledger
	if err := json.NewDecoder(reply.Body).Decode(&l); err != nil {
		d.t.Fatal(err)
	}
	return l
}
