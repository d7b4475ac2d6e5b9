package upstream

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/certtest"
	"whittle/internal/fatal"
	"whittle/internal/rawtest"
)

// secured serves by TLS, and tells of the last request's connection.
func secured(t *testing.T, c *tls.Config) (*named, *atomic.Pointer[tls.ConnectionState]) {
	t.Helper()
	var last atomic.Pointer[tls.ConnectionState]
	return serveBy(t, "secured", func(s *httptest.Server) {
		inner := s.Config.Handler
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			last.Store(r.TLS)
			inner.ServeHTTP(w, r)
		})
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = c
		s.EnableHTTP2 = true
		s.StartTLS()
	}), &last
}

// TestUpstreamTLS: whom an upstream's certificate must be from and for, and what is
// asked for.
func TestUpstreamTLS(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := certtest.New(t), certtest.New(t)
	ca, other := fatal.Write(t, filepath.Join(dir, "ca.pem"), ours.Chain), fatal.Write(t, filepath.Join(dir, "other.pem"), theirs.Chain)
	byAddress := ours.For(t, "127.0.0.1").Certificate
	byName := ours.For(t, "app.internal").Certificate
	for _, tt := range []struct {
		name   string
		server *tls.Config
		tls    whittle.UpstreamTLS
		sni    string
		fails  string
	}{
		{"the system's authorities", &tls.Config{Certificates: []tls.Certificate{byAddress}}, whittle.UpstreamTLS{}, "", "unknown authority"},
		{"its own authority", &tls.Config{Certificates: []tls.Certificate{byAddress}}, whittle.UpstreamTLS{CA: ca}, "", ""},
		{"another authority", &tls.Config{Certificates: []tls.Certificate{byAddress}}, whittle.UpstreamTLS{CA: other}, "", "unknown authority"},
		{"another name", &tls.Config{Certificates: []tls.Certificate{byName}}, whittle.UpstreamTLS{CA: ca}, "", "127.0.0.1"},
		{"a name that is asked for", &tls.Config{Certificates: []tls.Certificate{byName}}, whittle.UpstreamTLS{CA: ca, ServerName: "app.internal"}, "app.internal", ""},
		{"a name that is asked for in vain", &tls.Config{Certificates: []tls.Certificate{byName}}, whittle.UpstreamTLS{CA: ca, ServerName: "db.internal"}, "", "db.internal"},
		{"an old version", &tls.Config{Certificates: []tls.Certificate{byAddress}, MaxVersion: tls.VersionTLS12}, whittle.UpstreamTLS{CA: ca, MinVersion: tls.VersionTLS13}, "", "protocol version"},
		{"a version that will do", &tls.Config{Certificates: []tls.Certificate{byAddress}, MaxVersion: tls.VersionTLS12}, whittle.UpstreamTLS{CA: ca}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, last := secured(t, tt.server)
			u := upstreamOf(t, whittle.Upstream{URL: s.URL, TLS: tt.tls})
			a := asks(t.Context(), u)
			switch {
			case tt.fails != "":
				if a.Failure != whittle.FailedConnect || !strings.Contains(a.Detail, tt.fails) {
					t.Errorf("%s %d: %s", a.Failure, a.Status, a.Detail)
				}
			case a.Failure != whittle.NoFailure:
				t.Errorf("%s: %s", a.Failure, a.Detail)
			default:
				fatal.Same(t, last.Load().ServerName, tt.sni, "the name asked for")
			}
		})
	}
}

// TestClientCertificatesAreReadAgain: an upstream that asks for one gets the one that
// is in the files now; a pair that does not fit leaves the last in use.
func TestClientCertificatesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	ours := certtest.New(t)
	ca := fatal.Write(t, filepath.Join(dir, "ca.pem"), ours.Chain)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pair := ours.For(t, "first")
	pair.Write(t, dir, "cert.pem", "key.pem")
	s, last := secured(t, &tls.Config{
		Certificates: []tls.Certificate{ours.For(t, "127.0.0.1").Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ours.Pool(),
	})
	u := upstreamOf(t, whittle.Upstream{URL: s.URL, TLS: whittle.UpstreamTLS{CA: ca, Certificate: cert, Key: key}})
	shown := func(want string) {
		t.Helper()
		u.tls.mu.Lock()
		u.tls.looked = time.Time{} // the files are looked at again at once
		u.tls.mu.Unlock()
		u.group.Load().all[0].ways.retire()
		a := asks(t.Context(), u)
		if client := last.Load().PeerCertificates[0].Subject.CommonName; a.Failure != whittle.NoFailure || client != want {
			t.Errorf("%q was shown, not %q: %s", client, want, a.Detail)
		}
	}
	shown("first")
	pair = ours.For(t, "second")
	fatal.Write(t, cert, pair.Chain)
	shown("first") // its key is not there yet
	fatal.Write(t, key, pair.Key)
	shown("second")
	fatal.Write(t, ca, []byte("nothing"))
	shown("second")
	bare := upstreamOf(t, whittle.Upstream{URL: s.URL, Insecure: true})
	if a := asks(t.Context(), bare); a.Failure == whittle.NoFailure {
		t.Error("the server takes clients without a certificate")
	}
	for field, spec := range map[string]whittle.UpstreamTLS{
		"tls.ca":   {CA: ca},
		"tls.cert": {Certificate: cert, Key: key + ".gone"},
	} {
		if _, err := New(whittle.Upstream{URL: s.URL, TLS: spec}, false, nil); whittle.CodeOf(err) != whittle.Invalid || fieldOf(err) != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestWhatTLSHoldsIsNoResponse: an upstream that says more than its response, in the
// same record, does not answer the next request by it.
func TestWhatTLSHoldsIsNoResponse(t *testing.T) {
	ours := certtest.New(t)
	config := &tls.Config{Certificates: []tls.Certificate{ours.For(t, "127.0.0.1").Certificate}, NextProtos: []string{"http/1.1"}, DynamicRecordSizingDisabled: true}
	at := rawtest.Serve(t, func(plain net.Conn, _ int) {
		c := tls.Server(plain, config)
		b := make([]byte, 4096)
		for {
			if _, err := c.Read(b); err != nil {
				return
			}
			// The response ends where the reader's buffer does, and TLS has the rest.
			const head = "HTTP/1.1 200 OK\r\nContent-Length: 8000\r\n\r\n"
			body := strings.Repeat("x", 8000)
			fill := connBuffer - len(head) - len(body)
			text := strings.Replace(head, "OK", "OK"+strings.Repeat("k", fill), 1) + body
			_, _ = io.WriteString(c, text+"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
		}
	})
	u := upstreamOf(t, whittle.Upstream{URL: strings.Replace(at, "http:", "https:", 1), Insecure: true})
	u.http1.Store(true)
	for range 5 {
		if a := asks(t.Context(), u); a.Failure != whittle.NoFailure || len(a.Body) != 8000 {
			t.Fatalf("%q %s %s", a.Body[:min(len(a.Body), 20)], a.Failure, a.Detail)
		}
	}
}

func fieldOf(err error) string {
	if e, ok := errors.AsType[*whittle.Error](err); ok {
		return e.Field
	}
	return ""
}
