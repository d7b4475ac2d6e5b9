package load

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"whittle"
	"whittle/load/report"
	"whittle/load/wire"
)

// testProxy is a proxy that leads every name to one server, and keeps what it was asked.
type testProxy struct {
	to   string // host:port
	mu   sync.Mutex
	seen []string // guarded by mu
}

func (p *testProxy) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line := fmt.Sprintf(format, args...); !slices.Contains(p.seen, line) {
		p.seen = append(p.seen, line)
	}
}

func (p *testProxy) asked() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.seen)
	return strings.Join(p.seen, "; ")
}

func (p *testProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.note("%s", strings.TrimSpace(r.Method+" "+r.RequestURI+" host "+r.Host+" "+r.Header.Get("Proxy-Authorization")))
	if strings.HasPrefix(r.Host, "forbidden.test") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if r.Method != http.MethodConnect {
		out, _ := http.NewRequestWithContext(r.Context(), r.Method, "http://"+p.to+r.URL.RequestURI(), r.Body)
		out.Host = r.Host
		resp, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for name, v := range resp.Header {
			w.Header()[name] = v
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
		return
	}
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	// One write: what the server says first comes with the head.
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\nVia: me\r\n\r\n")
	join(client, server, buffered)
}

// join passes bytes on both ways until one side ends.
func join(client, server net.Conn, from io.Reader) {
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(server, from)
		_ = server.(*net.TCPConn).CloseWrite()
	})
	_, _ = io.Copy(client, server)
	client.Close()
	server.Close()
	wg.Wait()
}

// socks serves SOCKS5 with names, with or without a password.
func (p *testProxy) socks(c net.Conn, _ int) {
	r := bufio.NewReader(c)
	read := func(n int) []byte { b := make([]byte, n); _, _ = io.ReadFull(r, b); return b }
	methods := read(int(read(2)[1]))
	login := ""
	if slices.Contains(methods, 2) {
		_, _ = c.Write([]byte{5, 2})
		user := read(int(read(2)[1]))
		login = " " + string(user) + ":" + string(read(int(read(1)[0])))
		_, _ = c.Write([]byte{1, 0})
	} else {
		_, _ = c.Write([]byte{5, 0})
	}
	read(4)
	name := read(int(read(1)[0]))
	port := read(2)
	p.note("socks %s:%d%s", name, int(port[0])<<8|int(port[1]), login)
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	join(c, server, r)
}

// The environment's proxy is used as net/http and k6 use it: plain requests with the whole
// URL, others through a tunnel, and none for this machine itself.
func TestTheEnvironmentsProxyIsUsed(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://other.test/there?x=1", http.StatusFound)
			return
		}
		fmt.Fprintf(w, "%s %s %s", r.Proto, r.Host, r.Header.Get("Proxy-Authorization"))
	})
	start := func(tls bool) *httptest.Server {
		s := httptest.NewUnstartedServer(hello)
		s.EnableHTTP2 = tls
		if tls {
			s.StartTLS()
		} else {
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetHTTP1(true)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
		}
		t.Cleanup(s.Close)
		return s
	}
	plain, secure := start(false), start(true)
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:p@ss"))
	for _, c := range []struct {
		name     string
		env      map[string]string // PROXY, TLSPROXY and SOCKS are the addresses
		target   string
		path     string
		protocol string
		asked    string // of the proxy
	}{
		{"plain", map[string]string{"HTTP_PROXY": "http://PROXY"}, "http://shop.test:81", "/a?b=c", "", "GET http://shop.test:81/a?b=c host shop.test:81"},
		{"lower case", map[string]string{"http_proxy": "http://PROXY"}, "http://shop.test", "/", "", "GET http://shop.test/ host shop.test"},
		{"no scheme", map[string]string{"http_proxy": "PROXY"}, "http://shop.test", "/", "", "GET http://shop.test/ host shop.test"},
		{"a login", map[string]string{"HTTP_PROXY": "http://me:p%40ss@PROXY"}, "http://shop.test/base", "/a", "", "GET http://shop.test/base/a host shop.test " + basic},
		{"a redirect elsewhere", map[string]string{"HTTP_PROXY": "http://PROXY"}, "http://shop.test", "/away", "", "GET http://other.test/there?x=1 host other.test; GET http://shop.test/away host shop.test"},
		{"a proxy over TLS", map[string]string{"HTTP_PROXY": "https://TLSPROXY"}, "http://shop.test", "/", "", "GET http://shop.test/ host shop.test"},
		{"TLS", map[string]string{"HTTPS_PROXY": "http://PROXY"}, "https://shop.test", "/", "", "CONNECT shop.test:443 host shop.test:443"},
		{"TLS in TLS, with a login", map[string]string{"https_proxy": "https://me:p%40ss@TLSPROXY"}, "https://shop.test:4443", "/", "", "CONNECT shop.test:4443 host shop.test:4443 " + basic},
		{"HTTP/2", map[string]string{"HTTPS_PROXY": "http://PROXY"}, "https://shop.test", "/", wire.HTTP2, "CONNECT shop.test:443 host shop.test:443"},
		{"HTTP/2 known beforehand", map[string]string{"HTTP_PROXY": "http://PROXY"}, "http://shop.test", "/", wire.HTTP2, "CONNECT shop.test:80 host shop.test:80"},
		{"SOCKS", map[string]string{"HTTP_PROXY": "socks5://SOCKS"}, "http://shop.test", "/", "", "socks shop.test:80"},
		{"SOCKS with a login", map[string]string{"HTTPS_PROXY": "socks5h://me:p%40ss@SOCKS"}, "https://shop.test", "/", wire.HTTP2, "socks shop.test:443 me:p@ss"},
		{"this machine", map[string]string{"HTTP_PROXY": "http://PROXY"}, plain.URL, "/", "", ""},
		{"this machine by name", map[string]string{"HTTP_PROXY": "http://PROXY"}, strings.Replace(plain.URL, "127.0.0.1", "localhost", 1), "/", "", ""},
		{"this machine over TLS", map[string]string{"HTTPS_PROXY": "http://PROXY"}, secure.URL, "/", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, how := range []string{"loops", "goroutines", "a pool"} {
				p := &testProxy{to: plain.Listener.Addr().String()}
				if strings.HasPrefix(c.target, "https") {
					p.to = secure.Listener.Addr().String()
				}
				front, tlsFront := httptest.NewServer(p), httptest.NewTLSServer(p)
				defer front.Close()
				defer tlsFront.Close()
				socks := strings.TrimPrefix(rawServer(t, p.socks), "http://")
				for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
					t.Setenv(name, "")
					t.Setenv(strings.ToLower(name), "")
				}
				for name, v := range c.env {
					t.Setenv(name, strings.NewReplacer("TLSPROXY", tlsFront.Listener.Addr().String(), "PROXY", front.Listener.Addr().String(), "SOCKS", socks).Replace(v))
				}
				flow := "{get: {url: '" + c.path + "', expect: {statusCode: 200}}}"
				flow += ", " + flow
				if how == "goroutines" {
					flow = "{parallel: [" + flow + "]}"
				}
				src := "config: {tls: {rejectUnauthorized: false}, phases: [{duration: 0.01, arrivalCount: 2}]}\nscenarios: [{flow: [" + flow + "]}]"
				o := Options{Target: c.target, Protocol: c.protocol}
				if how == "a pool" {
					o.Pool = 1
				}
				r := run(t, parsed(t, src), o)
				if r.Completed != 4 || r.Failed != 0 || p.asked() != c.asked {
					t.Errorf("%s: %d of %d completed, %v %v, the proxy was asked %q, want %q", how, r.Completed, r.Requests, r.Errors, r.ErrorSamples, p.asked(), c.asked)
				}
				noted := strings.Contains(strings.Join(r.Warnings, "\n"), "requests went through the proxy ")
				if noted != (c.asked != "") || strings.Contains(strings.Join(r.Warnings, "\n"), "p%40ss") {
					t.Errorf("%s: %q", how, r.Warnings)
				}
			}
		})
	}
}

// NO_PROXY is that of curl and net/http: names with all below them, ports, networks.
func TestNoProxyNamesWhatGoesStraight(t *testing.T) {
	for no, straight := range map[string]bool{
		"": false, "shop.test": true, ".test": true, "test": true, "*": true, "other.test, shop.test": true, "shop.test:80": true, "shop.test:81": false, "hop.test": false, ".shop.test": false,
	} {
		t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
		t.Setenv("http_proxy", "")
		t.Setenv("NO_PROXY", no)
		t.Setenv("no_proxy", "")
		r, err := NewRunner(parsed(t, "scenarios: [{flow: [{get: {url: /}}]}]"), Options{Target: "http://shop.test"})
		if err != nil {
			t.Fatal(err)
		}
		n, err := r.network()
		if err != nil {
			t.Fatal(err)
		}
		if got := len(n.Proxies()) == 0; got != straight {
			t.Errorf("NO_PROXY=%s: straight is %v", no, got)
		}
	}
}

// What a proxy refuses is an error of connecting, which names the proxy.
func TestAProxyThatRefuses(t *testing.T) {
	p := &testProxy{}
	front := httptest.NewServer(p)
	defer front.Close()
	mute := rawServer(t, func(c net.Conn, _ int) { _ = readRequest(bufio.NewReader(c)) })
	endless := rawServer(t, func(c net.Conn, _ int) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for {
			if _, err := io.WriteString(c, "a: "+strings.Repeat("b", 1000)+"\r\n"); err != nil {
				return
			}
		}
	})
	for _, c := range []struct{ proxy, target, kind, says string }{
		{front.URL, "https://forbidden.test", report.ErrorConnect, "the proxy " + front.URL + " does not connect to forbidden.test:443: 403 Forbidden"},
		{"http://127.0.0.1:1", "https://shop.test", report.ErrorRefused, "connect to the proxy http://127.0.0.1:1: "},
		{"http://127.0.0.1:1", "http://shop.test", report.ErrorRefused, "connect to the proxy http://127.0.0.1:1: "},
		{mute, "https://shop.test", report.ErrorConnect, "EOF"},
		{endless, "https://shop.test", report.ErrorMalformed, "has no end"},
		{rawServer(t, say("SSH-2.0-x\r\n\r\n")), "https://shop.test", report.ErrorMalformed, "the proxy's response to CONNECT"},
		{rawServer(t, func(c net.Conn, _ int) { _, _ = c.Read(make([]byte, 10)); _, _ = c.Write([]byte{5, 255}) }), "http://shop.test", report.ErrorConnect, "no acceptable authentication"},
	} {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
			t.Setenv(name, c.proxy)
			t.Setenv(strings.ToLower(name), "")
			if strings.Contains(c.says, "authentication") {
				t.Setenv(name, strings.Replace(c.proxy, "http:", "socks5:", 1))
			}
		}
		t.Setenv("NO_PROXY", "")
		r := run(t, parsed(t, "scenarios: [{flow: [{get: {url: /}}]}]"), Options{Target: c.target})
		if r.Errors[c.kind] != 1 || !strings.Contains(r.ErrorSamples[c.kind], c.says) {
			t.Errorf("%s by %s: %v, %q", c.target, c.proxy, r.Errors, r.ErrorSamples)
		}
	}
	for text, says := range map[string]string{
		"ftp://me:secret@127.0.0.1:1": "the proxy ftp://", "http://me:secret@proxy.test:port": "HTTP_PROXY is no proxy's URL", "me:secret@[::1": "HTTP_PROXY is no proxy's URL",
	} {
		t.Setenv("HTTP_PROXY", text)
		_, err := Run(context.Background(), parsed(t, "scenarios: [{flow: [{get: {url: /}}]}]"), Options{Target: "http://shop.test"})
		if whittle.CodeOf(err) != whittle.Invalid || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), says) {
			t.Error(err)
		}
	}
	// It is of no interest where nothing goes through it.
	r, err := NewRunner(parsed(t, "scenarios: [{flow: [{get: {url: /}}]}]"), Options{Target: "http://127.0.0.1:1"})
	if err == nil {
		_, err = r.network()
	}
	if err != nil {
		t.Error(err)
	}
}
