package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

// certificateLife is how long a certificate that is made here is good: longer than anybody simulates.
const certificateLife = 10 * 365 * 24 * time.Hour

// certificate reads the pair of files. When the key is not there both are made, for the given hosts, signed by itself: whoever trusts the
// certificate's file as an authority trusts this server and no other.
func certificate(certFile, keyFile string, hosts []string) (tls.Certificate, error) {
	if _, err := os.Stat(keyFile); errors.Is(err, fs.ErrNotExist) {
		if err := makeCertificate(certFile, keyFile, hosts); err != nil {
			return tls.Certificate{}, fmt.Errorf("make certificate: %w", err)
		}
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("load certificate: %w", err)
	}
	return pair, nil
}

func makeCertificate(certFile, keyFile string, hosts []string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "batchbus simulator"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	// The key is last: when it is there, so is the certificate.
	return errors.Join(writePEM(certFile, "CERTIFICATE", der, 0o644), writePEM(keyFile, "PRIVATE KEY", secret, 0o600))
}

func writePEM(path, kind string, der []byte, mode fs.FileMode) error {
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode); err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	return nil
}
