// Package passthrough holds the gateway to its first promise over real sockets:
// what has no candidate passes through untouched.
package passthrough

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/carve/gateway"
	"whittle/carve/gateway/listener"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/rawtest"
)

// patience bounds every wait of these tests; nothing is asserted about how much
// of it is used.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(process.BothWays{M: m})
}

// gate is a running gateway.
type gate struct {
	*gateway.Gateway
	addr string
	// stop ends serving and gives what Serve returned.
	stop func() error
}

func (g gate) url(path string) string { return "http://" + g.addr + path }

// options are those of a gateway and of the listener that it has.
type options struct {
	gateway.Options
	TLS *listener.TLS
	// Front changes the listener.
	Front func(*listener.Listener)
}

// through starts a gateway before an upstream, and ends it with the test.
func through(t *testing.T, upstream string, change ...func(*options)) gate {
	t.Helper()
	o := options{Options: gateway.Options{Monolith: whittle.Upstream{URL: upstream, Timeout: patience}, NetHTTP: process.NetHTTP}}
	o.Limits.Grace = 5 * time.Second
	for _, c := range change {
		c(&o)
	}
	g, err := gateway.New(o.Options)
	fatal.If(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	front := listener.Listener{Listener: l}
	if o.TLS != nil {
		front.TLS, err = listener.LoadTLS(*o.TLS, slog.New(slog.DiscardHandler))
		fatal.If(t, err)
	}
	if o.Front != nil {
		o.Front(&front)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, front) }()
	stop := sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-served:
			return errors.Join(err, g.Close(context.Background()))
		case <-time.After(patience):
			return errors.New("Serve did not return")
		}
	})
	t.Cleanup(func() { fatal.If(t, stop()) })
	return gate{Gateway: g, addr: l.Addr().String(), stop: stop}
}

// upstream runs a handler on HTTP/1.1.
func upstream(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// scripted is an upstream that is no HTTP server: each connection is given to
// play, with its number from 0 on.
func scripted(t *testing.T, play func(n int, c net.Conn, r *bufio.Reader)) string {
	t.Helper()
	var one sync.Mutex // connections follow each other
	return rawtest.Serve(t, func(c net.Conn, n int) {
		one.Lock()
		defer one.Unlock()
		_ = c.SetDeadline(time.Now().Add(patience))
		play(n, c, bufio.NewReader(c))
		_ = c.Close()
	})
}

// saying is an upstream that answers the first request of each connection with a text, whatever
// that is, and closes.
func saying(t *testing.T, text string) string {
	t.Helper()
	return scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
		if _, _, err := readRequest(r); err == nil {
			_, _ = io.WriteString(c, text)
		}
	})
}

// readRequest reads one request with its body from a scripted connection.
func readRequest(r *bufio.Reader) (*http.Request, []byte, error) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(req.Body)
	return req, body, err
}

// client is an HTTP client whose connections end with the test.
func client(t *testing.T) *http.Client { return speaking(t, false, nil) }

// speaking is a client by HTTP/1.1 or by HTTP/2, plain or, where it trusts somebody, by TLS.
func speaking(t *testing.T, http2 bool, roots *x509.CertPool) *http.Client {
	t.Helper()
	var p http.Protocols
	p.SetHTTP1(!http2)
	p.SetHTTP2(http2 && roots != nil)
	p.SetUnencryptedHTTP2(http2 && roots == nil)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: &p, ExpectContinueTimeout: time.Hour}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	fatal.If(t, err)
	_ = c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// raw sends bytes as they are and reads everything until the gateway closes.
func raw(t *testing.T, addr, bytes string) string {
	t.Helper()
	c := dial(t, addr)
	_, err := io.WriteString(c, bytes)
	fatal.If(t, err)
	response, err := io.ReadAll(c)
	if err != nil && !strings.Contains(err.Error(), "reset") { // which is as good as an end
		t.Fatal(err)
	}
	return string(response)
}

// mustRead reads to the end, and closes what can be closed.
func mustRead(t *testing.T, r io.Reader) string {
	t.Helper()
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read body: %v", err)
	}
	return string(b)
}
