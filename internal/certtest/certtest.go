// Package certtest signs certificates for tests.
package certtest

import (
	"cmp"
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
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	Pair
	root *x509.Certificate
}

// Pair is a certificate with its key, as a server has it and as files have it, in PEM.
type Pair struct {
	tls.Certificate
	Chain, Key []byte
}

// New makes an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{}
	a.Pair = a.Sign(t, x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	var err error
	if a.root, err = x509.ParseCertificate(a.Certificate.Certificate[0]); err != nil {
		t.Fatal(err)
	}
	return a
}

// Pool has the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.root)
	return p
}

// For signs a certificate for names and addresses; the first is its name.
func (a *Authority) For(t testing.TB, hosts ...string) Pair {
	t.Helper()
	c := x509.Certificate{Subject: pkix.Name{CommonName: hosts[0]}}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	return a.Sign(t, c)
}

// Sign signs a certificate for servers and clients. It is valid from 2000 to 2099,
// unless it says when: the clocks of the two ends may be years apart.
func (a *Authority) Sign(t testing.TB, c x509.Certificate) Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber = cmp.Or(c.SerialNumber, big.NewInt(time.Now().UnixNano()))
	if c.NotAfter.IsZero() {
		c.NotBefore, c.NotAfter = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if !c.IsCA {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	parent, by := a.root, a.PrivateKey
	if parent == nil {
		parent, by = &c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &c, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{
		tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}),
	}
}

// Write writes a pair as two files of a folder.
func (p *Pair) Write(t testing.TB, dir, chain, key string) {
	t.Helper()
	for name, text := range map[string][]byte{chain: p.Chain, key: p.Key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
