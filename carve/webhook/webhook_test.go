package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/certtest"
	"whittle/internal/fatal"
	"whittle/internal/rawtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "T0SECRET"

func hook(url string) *whittle.Hook {
	return &whittle.Hook{URL: url + "/" + secret + "?token=" + secret, Key: "0123456789abcdef", Timeout: 5 * time.Second}
}

// TestASignedPost: the receiver can check who sent what and when.
func TestASignedPost(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		stamp, sum, _ := strings.Cut(strings.TrimPrefix(r.Header.Get(SignatureField), "t="), ",v1=")
		h := hmac.New(sha256.New, []byte("0123456789abcdef"))
		_, _ = io.WriteString(h, stamp+"."+string(b))
		if got, err := hex.DecodeString(sum); err != nil || !hmac.Equal(got, h.Sum(nil)) || r.Header.Get("Content-Type") != "application/json" || r.Header.Get(DeliveryField) != "d1" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer s.Close()
	c := New()
	defer c.Close()
	if r, err := c.Post(t.Context(), hook(s.URL), "d1", []byte(`{"a":1}`)); err != nil || r.Status != 200 {
		t.Errorf("%+v, %v", r, err)
	}
	unsigned := hook(s.URL)
	unsigned.Key = "another key that is long"
	if r, err := c.Post(t.Context(), unsigned, "d1", []byte(`{"a":1}`)); err != nil || r.Status != 403 {
		t.Errorf("by another key: %+v, %v", r, err)
	}
}

// TestReceivers has receivers of every kind: what comes of each is bounded, one line, and
// never the URL.
func TestReceivers(t *testing.T) {
	raw := func(text string, hang bool) string {
		return rawtest.Serve(t, func(conn net.Conn, _ int) {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, text)
			if hang {
				_, _ = io.Copy(io.Discard, conn)
			}
		})
	}
	serve := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	unknown := httptest.NewTLSServer(http.NotFoundHandler())
	unknown.Config.ErrorLog = nil
	t.Cleanup(unknown.Close)
	var redirected bool
	elsewhere := serve(func(http.ResponseWriter, *http.Request) { redirected = true })
	for name, tt := range map[string]struct {
		url    string
		status int
		text   string
		after  time.Duration
	}{
		"nobody listens":     {"http://127.0.0.1:1", 0, "connect", 0},
		"no such name":       {"http://nothing.invalid", 0, "", 0},
		"silent":             {raw("", true), 0, "no response within", 0},
		"closes":             {raw("", false), 0, "EOF", 0},
		"not HTTP":           {raw("SSH-2.0-OpenSSH_9.6\r\n", false), 0, "malformed", 0},
		"a head without end": {raw("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20), true), 0, "", 0},
		"stalls in its body": {raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab", true), 0, "a response 200 that broke off: no end of it within 3s", 0},
		"ends never": {serve(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "a")
				_ = http.NewResponseController(w).Flush()
			}
		}), 200, strings.Repeat("a", maxText), 0},
		"has a gigabyte":          {raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"+strings.Repeat("a", maxReply), true), 200, strings.Repeat("a", maxText), 0},
		"breaks in its body":      {raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab", false), 0, "a response 200 that broke off: unexpected EOF", 0},
		"HTTP/2 in plain text":    {raw("\x00\x00\x12\x04\x00\x00\x00\x00\x00", false), 0, "malformed", 0},
		"plain text for HTTPS":    {strings.Replace(raw("HTTP/1.1 400 Bad Request\r\n\r\n", false), "http:", "https:", 1), 0, "HTTP response to HTTPS client", 0},
		"a handshake without end": {strings.Replace(raw("", true), "http:", "https:", 1), 0, "no response within", 0},
		"an unknown CA":           {unknown.URL, 0, "certificate", 0},
		"redirects": {serve(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		}), 307, "", 0},
		"without end": {serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("a", 1<<20)) }), 200, strings.Repeat("a", maxText), 0},
		"many lines": {serve(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "\n one \x1b[31mtwo\x00\nthree")
		}), 200, "one  [31mtwo", 0},
		"not UTF-8":          {serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a\xff\xfeb")) }), 200, "a�b", 0},
		"cut in a character": {serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("é", 1<<10)) }), 200, strings.Repeat("é", maxText/2), 0},
		"wants to be alone":  {serve(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) }), 429, "", 7 * time.Second},
		"alone for ever": {serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "99999999")
			w.WriteHeader(503)
		}), 503, "", time.Hour},
		"alone until a date": {serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT")
			w.WriteHeader(503)
		}), 503, "", 0},
		"no content":           {serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }), 204, "", 0},
		"an empty 200":         {serve(func(http.ResponseWriter, *http.Request) {}), 200, "", 0},
		"early hints, then no": {serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(403) }), 403, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := New()
			defer c.Close()
			h := hook(tt.url)
			switch {
			case strings.HasPrefix(tt.text, "no response within"), name == "a head without end":
				h.Timeout = 50 * time.Millisecond
			case strings.HasSuffix(tt.text, " within 3s"): // its head has to be there by then
				h.Timeout = 3 * time.Second
			}
			r, err := c.Post(t.Context(), h, Delivery(), []byte("{}"))
			said := r.Text
			if err != nil {
				said = err.Error()
			}
			if (err == nil) != (tt.status > 0) || r.Status != tt.status || r.After != tt.after || err != nil && !strings.Contains(said, tt.text) || err == nil && said != tt.text {
				t.Errorf("%+v, %v", r, err)
			}
			if strings.Contains(said, secret) || strings.Contains(said, "\n") || !utf8.ValidString(said) {
				t.Errorf("said %q", said)
			}
		})
	}
	t.Cleanup(func() {
		if redirected {
			t.Error("a redirect was followed")
		}
	})
}

// TestACanceledPost ends at once.
func TestACanceledPost(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() }))
	defer s.Close()
	c := New()
	defer c.Close()
	if _, err := c.Post(ctx, hook(s.URL), "", nil); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("%v", err)
	}
}

func TestBackoff(t *testing.T) {
	for failed, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 6: 30 * time.Second, 1000: 30 * time.Second} {
		fatal.Same(t, Backoff(failed, 30*time.Second, 0), want, "after %d", failed)
		fatal.Same(t, Backoff(failed, 30*time.Second, 1), want*3/4, "after %d, at the earliest", failed)
	}
}

// TestReceiversByTLS: a certificate is held to the authorities that the system trusts, to
// its time and to the host; what is wrong with it is said, and HTTP/2 alone will do.
func TestReceiversByTLS(t *testing.T) {
	trusted, stranger := certtest.New(t), certtest.New(t)
	now := time.Now()
	const anything = " " // the connection may be gone before the reason is read
	for name, tt := range map[string]struct {
		by        *certtest.Authority
		host      string
		from, to  time.Time
		configure func(*tls.Config)
		says      string // empty: 200
	}{
		"a good one":              {trusted, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour), nil, ""},
		"HTTP/2 alone":            {trusted, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour), func(c *tls.Config) { c.NextProtos = []string{"h2"} }, ""},
		"expired":                 {trusted, "127.0.0.1", now.Add(-2 * time.Hour), now.Add(-time.Hour), nil, "expired"},
		"of another host":         {trusted, "192.0.2.1", now.Add(-time.Hour), now.Add(time.Hour), nil, "192.0.2.1"},
		"of an unknown authority": {stranger, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour), nil, "unknown authority"},
		"wants a certificate":     {trusted, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour), func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }, anything},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.EnableHTTP2 = true
			signed := tt.by.Sign(t, x509.Certificate{NotBefore: tt.from, NotAfter: tt.to, IPAddresses: []net.IP{net.ParseIP(tt.host)}})
			s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{signed.Certificate}}
			if tt.configure != nil {
				tt.configure(s.TLS)
			}
			s.StartTLS()
			defer s.Close()
			c := New()
			defer c.Close()
			c.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted.Pool()}
			r, err := c.Post(t.Context(), hook(s.URL), "d1", []byte("{}"))
			if tt.says == "" && (err != nil || r.Status != 200) || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), secret)) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
