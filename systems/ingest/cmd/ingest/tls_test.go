package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/e2e/process"
)

// writeCertificate writes a certificate with a number for 127.0.0.1, and its key.
func writeCertificate(t *testing.T, dir string, number int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(number), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"key.pem": {Type: "PRIVATE KEY", Bytes: secret}, "cert.pem": {Type: "CERTIFICATE", Bytes: der}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTLS serves HTTPS, on the fast path and off it, and takes a new certificate
// without a restart; a broken one leaves the old one in force.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	writeCertificate(t, dir, 1)
	p := start(t, dir, nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
	address := strings.TrimPrefix(p.public, "http://")
	serial := func() (number int64) {
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test looks at the certificate itself
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}} //nolint:gosec // as above
	defer client.CloseIdleConnections()
	for i := range 5 {
		a, err := post(client, "https://"+address+"/import", "", "text/plain", fmt.Sprint("event ", i))
		if err != nil || a.code != 200 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	big, err := post(client, "https://"+address+"/import", "", "text/plain", strings.Repeat("x", 400<<10)) // off the fast path
	if err != nil || big.code != 200 {
		t.Fatalf("%+v, %v", big, err)
	}
	for _, offered := range [][]string{nil, {"http/1.0"}, {"http/1.1", "http/1.0"}} { // curl --http1.0 offers that alone
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: offered}) //nolint:gosec // as above
		if err != nil {
			t.Errorf("a client that offers %q: %v", offered, err)
			continue
		}
		_, err = io.WriteString(c, "POST /import HTTP/1.0\r\nContent-Length: 1\r\n\r\nx")
		if said, _ := io.ReadAll(c); err != nil || !bytes.HasPrefix(said, []byte("HTTP/1.0 200")) {
			t.Errorf("a client that offers %q: %s, %v", offered, said, err)
		}
		c.Close()
	}
	res, err := http.Get(p.public + "/import") // plain HTTP
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP is responded to with %d", res.StatusCode)
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "cert.pem"), []byte("no certificate, for a moment"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d while the file is broken", n)
	}
	writeCertificate(t, dir, 2)
	process.Until(t, "the new certificate is served", func() bool { return serial() == 2 })
	p.stop(t)
	for _, args := range [][]string{{"--tls-cert", "cert.pem"}, {"--tls-cert", "none.pem", "--tls-key", "key.pem"}} {
		var out, errs bytes.Buffer
		t.Chdir(dir)
		if status := Run(t.Context(), append([]string{"serve", "--env-file", "", "--port", "0", "--admin", "", "--data", t.TempDir()}, args...), streams{in: strings.NewReader(""), out: &out, err: &errs}); status != 2 || !strings.Contains(errs.String(), "--tls-") {
			t.Errorf("%q: status %d: %s", args, status, &errs)
		}
	}
}
