package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trusting is a client that trusts what stands in the file and nothing else.
func trusting(t *testing.T, file string) *http.Client {
	t.Helper()
	authority, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		t.Fatalf("no certificate in %s", authority)
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
}

func TestACertificateIsMadeOnceAndTrustedByItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	var first []byte
	for life := range 2 {
		url, stop := started(t, "--tls-cert", cert, "--tls-key", key, "--tls-hosts", "simulator,127.0.0.1")
		reply, err := trusting(t, cert).Get(strings.TrimSuffix(url, "/v1") + "/_simulator/ledger")
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		now, err := os.ReadFile(cert)
		if err != nil || !strings.HasPrefix(url, "https://") || reply.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d, %v", url, reply.StatusCode, err)
		}
		if life == 1 && string(now) != string(first) {
			t.Error("a restart changed the certificate that clients trust")
		}
		first = now
		stranger := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if reply, err := stranger.Get(url); err == nil {
			reply.Body.Close()
			t.Error("a client that does not trust the file connected")
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode is %v, %v", info.Mode(), err)
	}
	if err := run(t.Context(), []string{"--listen=127.0.0.1:0", "--tls-cert", cert}, io.Discard); err == nil {
		t.Error("a certificate without a key was taken")
	}
}

func TestHealthTellsWhetherASimulatorListens(t *testing.T) {
	t.Parallel()
	url, stop := started(t)
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/v1")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"--health", "--listen=:" + port}, io.Discard); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if run(t.Context(), []string{"--health", "--listen", address}, io.Discard) == nil {
		t.Error("a stopped simulator is healthy")
	}
}
