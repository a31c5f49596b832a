package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/batchbus/batchbus/internal/app"
)

// selfSigned writes a certificate that signs itself, for servers and clients on this machine, and its key.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	ok(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	ok(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	ok(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	ok(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600))
	return cert, key
}

func TestABusMayAskForACertificateAndIsAskedForOne(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t)
	strange, strangeKey := selfSigned(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	ok(t, err)
	pool := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	ok(t, err)
	pool.AppendCertsFromPEM(text)
	url := bus(t, server.Options{TLS: true, TLSVerify: true, TLSTimeout: 5, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS13,
	}})
	ok(t, connects(t, &app.ConnectionFlags{NATS: url, TLSCA: cert, TLSCert: cert, TLSKey: key}))
	ok(t, connects(t, &app.ConnectionFlags{NATS: strings.Replace(url, "nats://", "tls://", 1), TLSCA: cert, TLSCert: cert, TLSKey: key}))
	for name, f := range map[string]*app.ConnectionFlags{
		"no client certificate":        {NATS: url, TLSCA: cert},
		"a strange client certificate": {NATS: url, TLSCA: cert, TLSCert: strange, TLSKey: strangeKey},
		"a strange server":             {NATS: url, TLSCA: strange, TLSCert: cert, TLSKey: key},
	} {
		if connects(t, f) == nil {
			t.Errorf("%s: it connects", name)
		}
	}
	if err := (&app.ConnectionFlags{TLSCert: cert, TLSKey: strangeKey}).Check(); err == nil || !strings.Contains(err.Error(), "--tls-cert, --tls-key") {
		t.Errorf("a key of another certificate: %v", err)
	}
}
