package passthrough

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/carve/gateway/listener"
	"whittle/e2e/process"
	"whittle/internal/certtest"
	"whittle/internal/fatal"
)

// whoUpstream responds with who the client is said to be.
func whoUpstream(t *testing.T) string {
	t.Helper()
	return upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %s", r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Proto"))
	}).URL
}

// behindProxies is a listener to which the loopback is a load balancer.
func behindProxies(o *options) {
	o.Front = func(l *listener.Listener) { l.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }
}

// TestProxyProtocol: the client is who the load balancer says, on both ways, in whatever
// pieces the header comes; nobody is served without one.
func TestProxyProtocol(t *testing.T) {
	g := through(t, whoUpstream(t), behindProxies)
	const (
		get    = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
		last   = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
		binary = "\r\n\r\n\x00\r\nQUIT\n"
	)
	for _, c := range []struct{ header, want string }{
		{"PROXY TCP4 192.0.2.7 127.0.0.1 4711 80\r\n", "192.0.2.7 http"},
		{"PROXY TCP6 2001:db8::7 ::1 4711 80\r\n", "2001:db8::7 http"},
		{"PROXY TCP6 ::ffff:192.0.2.8 ::1 4711 80\r\n", "192.0.2.8 http"},
		{"PROXY UNKNOWN\r\n", "127.0.0.1 http"},
		{binary + "\x20\x00\x00\x00", "127.0.0.1 http"},
		{binary + "\x21\x11\x00\x0c\xc0\x00\x02\x09\xc6\x33\x64\x02\x00\x50\x01\xbb", "192.0.2.9 http"},
		{binary + "\x21\x11\x00\x14\xc0\x00\x02\x09\xc6\x33\x64\x02\x00\x50\x01\xbb\x20\x00\x05\x01\x00\x00\x00\x00", "192.0.2.9 https"},
	} {
		if got := raw(t, g.addr, c.header+get+last); strings.Count(got, c.want) != 2 {
			t.Errorf("%q: %q, want %s", c.header, got, c.want)
		}
		conn := dial(t, g.addr)
		for _, b := range []byte(c.header + last) { // each byte in a packet of its own, mostly
			_, _ = conn.Write([]byte{b})
		}
		if got, _ := io.ReadAll(conn); !strings.Contains(string(got), c.want) {
			t.Errorf("%q byte by byte: %q, want %s", c.header, got, c.want)
		}
	}
	for _, bad := range []string{last, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03abcde", "PROXY TCP4 1.2.3.4\r\n" + last, binary + "\x21\x11\xff\xff" + last} {
		fatal.Same(t, raw(t, g.addr, bad), "", "%q", bad)
	}
}

// TestProxyProtocolInTime: a header that does not come ends the connection, and so does
// a peer that is no load balancer.
func TestProxyProtocolInTime(t *testing.T) {
	g := through(t, whoUpstream(t), behindProxies, func(o *options) { o.Limits.HeaderTimeout = 50 * time.Millisecond })
	for _, part := range []string{"", "PROXY TCP4 192.0.2.7 ", "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c"} {
		fatal.Same(t, raw(t, g.addr, part), "", "%q", part)
	}
	g = through(t, whoUpstream(t), func(o *options) {
		o.Front = func(l *listener.Listener) { l.Proxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }
	})
	fatal.Same(t, raw(t, g.addr, "PROXY TCP4 192.0.2.7 127.0.0.1 4711 80\r\nGET / HTTP/1.0\r\n\r\n"), "", "a peer that is not trusted")
}

// TestProxyProtocolBeforeTLS has the header in front of the handshake, for HTTP/1.1 and
// HTTP/2.
func TestProxyProtocolBeforeTLS(t *testing.T) {
	files, roots := certificate(t, t.TempDir())
	g := through(t, whoUpstream(t), behindProxies, func(o *options) { o.TLS = &files })
	for _, http2 := range []bool{false, true} {
		client := speaking(t, http2, roots)
		client.Transport.(*http.Transport).Dial = func(network, addr string) (net.Conn, error) { //nolint:staticcheck // it needs no context
			c, err := net.Dial(network, addr)
			if err == nil {
				_, err = io.WriteString(c, "PROXY TCP4 192.0.2.7 127.0.0.1 4711 80\r\n")
			}
			return c, err
		}
		resp, err := client.Get("https://" + g.addr + "/")
		fatal.If(t, err)
		if got := mustRead(t, resp.Body); got != "192.0.2.7 https" || (resp.ProtoMajor == 2) != http2 {
			t.Errorf("%s: %q", resp.Proto, got)
		}
	}
}

// TestRedirect: every request gets its own URL by HTTPS, and no upstream sees any.
func TestRedirect(t *testing.T) {
	u := upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("it was passed on") }).URL
	for _, to := range []listener.Redirect{{Status: 308, Port: 443}, {Status: 301, Port: 8443}} {
		g := through(t, u, func(o *options) { o.Front = func(l *listener.Listener) { l.Redirect = &to } })
		port := ""
		if to.Port != 443 {
			port = fmt.Sprintf(":%d", to.Port)
		}
		for _, c := range []struct{ request, location string }{
			{"GET /a/b?c=d%20e HTTP/1.1\r\nHost: shop.example\r\n", "https://shop.example" + port + "/a/b?c=d%20e"},
			{"GET // HTTP/1.1\r\nHost: shop.example:8080\r\n", "https://shop.example" + port + "//"},
			{"GET //evil.example/ HTTP/1.1\r\nHost: h\r\n", "https://h" + port + "//evil.example/"},
			{"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n", "https://h" + port + "/a"},
			{"HEAD /a HTTP/1.1\r\nHost: h\r\n", "https://h" + port + "/a"},
			{"GET / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n", "https://[2001:db8::1]" + port + "/"},
			{"GET http://other.example/x?y HTTP/1.1\r\nHost: other.example\r\n", "https://other.example" + port + "/x?y"},
			{"GET /a HTTP/1.0\r\nHost: h\r\n", "https://h" + port + "/a"},
			{"GET /%zz HTTP/1.1\r\nHost: h\r\n", ""},
			{"GET /a HTTP/1.0\r\n", ""},
			{"OPTIONS * HTTP/1.1\r\nHost: h\r\n", ""},
			{"CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n", ""},
			{"GET / HTTP/1.1\r\nHost: a/b\r\n", ""},
			{"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n", ""},
		} {
			body := ""
			if strings.HasPrefix(c.request, "POST") {
				body = "abc"
			}
			got := raw(t, g.addr, c.request+"Connection: close\r\n\r\n"+body)
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(got)), nil)
			if err != nil {
				t.Errorf("%q: %q, %v", c.request, got, err)
				continue
			}
			_ = resp.Body.Close()
			status := to.Status
			if c.location == "" {
				status = http.StatusBadRequest
			}
			if resp.StatusCode != status || resp.Header.Get("Location") != c.location {
				t.Errorf("%q: %d %q, want %q", c.request, resp.StatusCode, resp.Header.Get("Location"), c.location)
			}
		}
	}
}

// TestCertificatesByHost has a folder in every layout that tools make, in use by host,
// and read again when it changes.
func TestCertificatesByHost(t *testing.T) {
	a, dir := certtest.New(t), t.TempDir()
	for hosts, at := range map[string][2]string{
		"one.example www.one.example": {"one.crt", "one.key"}, "bot.example": {"bot.example/fullchain.pem", "bot.example/privkey.pem"},
		"cube.example": {"cube/tls.crt", "cube/tls.key"}, "other.example": {"default.crt", "default.key"},
	} {
		pair := a.For(t, strings.Fields(hosts)...)
		fatal.Write(t, filepath.Join(dir, at[0]), pair.Chain)
		fatal.Write(t, filepath.Join(dir, at[1]), pair.Key)
	}
	pair := a.For(t, "*.wild.example")
	fatal.Write(t, filepath.Join(dir, "wild.pem"), append(pair.Key, pair.Chain...))
	fatal.Write(t, filepath.Join(dir, "readme.txt"), "none")
	fatal.Write(t, filepath.Join(dir, "..data", "tls.crt"), "hidden")
	g := through(t, whoUpstream(t), func(o *options) { o.TLS = &listener.TLS{Folder: dir} })
	name := func(host string) string {
		c, err := tls.Dial("tcp", g.addr, &tls.Config{InsecureSkipVerify: true, ServerName: host})
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	for asked, want := range map[string]string{
		"one.example": "one.example", "WWW.One.Example": "one.example", "one.example.": "one.example", "a.wild.example": "*.wild.example",
		"wild.example": "other.example", "a.b.wild.example": "other.example", "bot.example": "bot.example", "cube.example": "cube.example",
		"nobody.example": "other.example", "": "other.example", "127.0.0.1": "other.example",
	} {
		fatal.Same(t, name(asked), want, "%q", asked)
	}
	// Another host comes, one pair becomes bad, and one goes.
	fatal.Write(t, filepath.Join(dir, "cube", "tls.crt"), "half written")
	fatal.If(t, os.Remove(filepath.Join(dir, "wild.pem")))
	pair = a.For(t, "new.example")
	pair.Write(t, dir, "new.pem", "new.key")
	process.Until(t, "the new certificate in use", func() bool { return name("new.example") == "new.example" })
	if name("cube.example") != "cube.example" || name("a.wild.example") != "other.example" {
		t.Errorf("a bad one: %s; one that is gone: %s", name("cube.example"), name("a.wild.example"))
	}
}

// TestClientCertificates: who shows one is named upstream, on both ways and by HTTP/2,
// and nobody can claim to be somebody else.
func TestClientCertificates(t *testing.T) {
	a, stranger, dir := certtest.New(t), certtest.New(t), t.TempDir()
	server := a.For(t, "localhost", "127.0.0.1")
	files := listener.TLS{Certificate: filepath.Join(dir, "c"), Key: filepath.Join(dir, "k"), ClientCA: filepath.Join(dir, "ca")}
	server.Write(t, dir, "c", "k")
	a.Write(t, dir, "ca", "ca.key")
	spiffe, _ := url.Parse("spiffe://shop/alice")
	alice := x509.Certificate{Subject: pkix.Name{CommonName: "alice \"the\" first\r\nX: é", Organization: []string{"Shop"}}, URIs: []*url.URL{spiffe}, DNSNames: []string{"alice.example"}}
	own, strangers := a.Sign(t, alice), stranger.Sign(t, alice)
	sum := sha256.Sum256(own.Certificate.Certificate[0])
	of := "Hash=" + hex.EncodeToString(sum[:]) + `;Subject="CN=alice \\\"the\\\" first%0D%0AX: %C3%A9,O=Shop";URI="spiffe://shop/alice";DNS="alice.example"`
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header["X-Forwarded-Client-Cert"], "|"))
	}).URL
	for _, c := range []struct {
		name            string
		optional, trust bool
		shown           *certtest.Pair
		forged, want    string
		refused         bool
	}{
		{name: "required, shown", shown: &own, want: of},
		{name: "required, shown and claimed", shown: &own, forged: "Hash=1", want: of},
		{name: "required, none", refused: true},
		{name: "required, a stranger's", shown: &strangers, refused: true},
		{name: "optional, none", optional: true},
		{name: "optional, claimed", optional: true, forged: "Hash=1"},
		{name: "optional, shown", optional: true, shown: &own, want: of},
		{name: "optional, a stranger's", optional: true, shown: &strangers, refused: true},
		{name: "a trusted proxy's word", optional: true, trust: true, forged: "Hash=1", want: "Hash=1"},
		{name: "a trusted proxy with its own", trust: true, shown: &own, forged: "Hash=1", want: "Hash=1," + of},
	} {
		files.ClientOptional = c.optional
		g := through(t, u, func(o *options) {
			o.TLS = &files
			if c.trust {
				o.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}
		})
		for _, http2 := range []bool{false, true} {
			client := speaking(t, http2, a.Pool())
			if c.shown != nil {
				client.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.shown.Certificate, nil }
			}
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+g.addr+"/", http.NoBody)
			if c.forged != "" {
				req.Header.Set("X-Forwarded-Client-Cert", c.forged)
			}
			resp, err := client.Do(req)
			if err != nil {
				if !c.refused {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			if got := mustRead(t, resp.Body); got != c.want || c.refused {
				t.Errorf("%s, %s: %q, want %q", c.name, resp.Proto, got, c.want)
			}
		}
	}
}

// TestUnixSocketClients: they count as of this machine.
func TestUnixSocketClients(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	through(t, whoUpstream(t), func(o *options) {
		o.Front = func(l *listener.Listener) {
			_ = l.Close()
			var err error
			l.Listener, err = net.Listen("unix", path)
			fatal.If(t, err)
		}
	})
	for range 2 {
		c, err := net.Dial("unix", path)
		fatal.If(t, err)
		_ = c.SetDeadline(time.Now().Add(patience))
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\nPOST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx")
		b, _ := io.ReadAll(c)
		fatal.Same(t, strings.Count(string(b), "127.0.0.1 http"), 2, "%q", b)
		_ = c.Close()
	}
}
