package listener

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
)

// TestIdleConnectionsHoldNoBuffer: what requests are read into goes from one connection to
// the next while they are kept open, encrypted or not.
func TestIdleConnectionsHoldNoBuffer(t *testing.T) {
	defer func(f func() any) { fastInputs.New = f }(fastInputs.New)
	var made atomic.Int64
	fastInputs.New = func() any { made.Add(1); return new(fastInput) }
	pair := httptest.NewTLSServer(http.NotFoundHandler())
	defer pair.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	files := TLS{Certificate: filepath.Join(t.TempDir(), "both.pem")}
	files.Key = files.Certificate
	b := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.TLS.Certificates[0].Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	if err := os.WriteFile(files.Certificate, b, 0o600); err != nil {
		t.Fatal(err)
	}
	certs, err := LoadTLS(files, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, secure := range []bool{false, true} {
		made.Store(0)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		on := Listener{Listener: l}
		if secure {
			on.TLS = certs
		}
		s := New(Config{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }), Log: slog.New(slog.DiscardHandler),
			Limits: whittle.Limits{Grace: time.Second}.WithDefaults(),
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx, on) }()
		const conns = 40
		for range conns {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if secure {
				c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
			}
			for range 2 { // so that it has been idle in between
				_, _ = fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
			}
		}
		if n := made.Load(); n > conns/2 { // some are idle a moment later than their client has the response
			t.Errorf("TLS %v: %d idle connections hold %d buffers", secure, conns, n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
