package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/certtest"
	"whittle/internal/fatal"
)

// TestTLS serves HTTPS, on the fast path and off it, and takes a new certificate
// without a restart; a broken one leaves the old one in force.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	a := certtest.New(t)
	write := func(name string) {
		pair := a.For(t, name)
		pair.Write(t, dir, "cert.pem", "key.pem")
	}
	write("first")
	p := start(t, dir, nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
	address := strings.TrimPrefix(p.public, "http://")
	served := func() string {
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test looks at the certificate itself
		fatal.If(t, err)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
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
	fatal.If(t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP is responded to with %d", res.StatusCode)
	}
	if n := served(); n != "first" {
		t.Errorf("certificate %s", n)
	}
	fatal.If(t, os.WriteFile(filepath.Join(dir, "cert.pem"), []byte("no certificate, for a moment"), 0o600))
	if n := served(); n != "first" {
		t.Errorf("certificate %s while the file is broken", n)
	}
	write("second")
	process.Until(t, "the new certificate is served", func() bool { return served() == "second" })
	p.stop(t)
	for _, args := range [][]string{{"--tls-cert", "cert.pem"}, {"--tls-cert", "none.pem", "--tls-key", "key.pem"}} {
		var out, errs bytes.Buffer
		t.Chdir(dir)
		if status := Run(t.Context(), append([]string{"serve", "--env-file", "", "--port", "0", "--admin", "", "--data", t.TempDir()}, args...), streams{in: strings.NewReader(""), out: &out, err: &errs}); status != 2 || !strings.Contains(errs.String(), "--tls-") {
			t.Errorf("%q: status %d: %s", args, status, &errs)
		}
	}
}
