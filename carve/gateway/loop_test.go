package gateway

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/listener"
	"whittle/internal/fatal"
	"whittle/internal/http1"
)

// facing gives listeners on free ports of loopback, so that gateways can be
// made that know each other's addresses.
func facing(t *testing.T, n int) (ls []net.Listener, urls []string) {
	t.Helper()
	for range n {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		fatal.If(t, err)
		ls, urls = append(ls, l), append(urls, "http://"+l.Addr().String())
	}
	return ls, urls
}

// made is a gateway that is closed when the test ends.
func made(t *testing.T, o Options) *Gateway {
	t.Helper()
	g, err := New(o)
	fatal.If(t, err)
	t.Cleanup(func() {
		grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := g.Close(grace); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return g
}

// listens has a gateway serve a listener until the test ends.
func listens(t *testing.T, g *Gateway, l listener.Listener) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, l) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		fatal.If(t, <-served)
	})
}

// behind serves a gateway on l until the test ends.
func behind(t *testing.T, l net.Listener, o Options) *Gateway {
	t.Helper()
	g := made(t, o)
	listens(t, g, listener.Listener{Listener: l})
	return g
}

// running serves a gateway on a port of its own until the test ends.
func running(t *testing.T, o Options) (g *Gateway, url string) {
	t.Helper()
	ls, urls := facing(t, 1)
	return behind(t, ls[0], o), urls[0]
}

// serving serves a handler until the test ends.
func serving(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	return hanging(t, false, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) { h.ServeHTTP(w, r) }).URL
}

// speaking is a client's side of HTTP/2 by prior knowledge, or of HTTP/1.1.
func speaking(t *testing.T, http2 bool) *http.Transport {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetHTTP1(!http2)
	tr.Protocols.SetUnencryptedHTTP2(http2)
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// quick is an upstream that a test can wait for.
func quick(url string) whittle.Upstream { return whittle.Upstream{URL: url, Timeout: 20 * time.Second} }

func ask(t *testing.T, method, url, body string, header ...string) (status int, text string) {
	t.Helper()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, text := askBy(t, tr, method, url, body, header...)
	return resp.StatusCode, text
}

// askBy asks over a transport's connections, and reads the whole response.
func askBy(t *testing.T, by http.RoundTripper, method, url, body string, header ...string) (resp *http.Response, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	fatal.If(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err = by.RoundTrip(req)
	fatal.If(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	fatal.If(t, err)
	return resp, string(b)
}

// TestARequestThatComesBackIsRefused holds that a gateway whose monolith is
// itself answers 508 after one round, whichever way the request went, counts
// each and tells the operator without a line for each.
func TestARequestThatComesBackIsRefused(t *testing.T) {
	ls, urls := facing(t, 1)
	var log bytes.Buffer
	g := behind(t, ls[0], Options{Monolith: quick(urls[0]), Log: slog.New(slog.NewTextHandler(&log, nil))})
	for name, how := range map[string]struct {
		method, body string
		header       []string
	}{
		"lean":             {method: "GET"},
		"lean with a body": {method: "POST", body: "short"},
		"net/http":         {method: "POST", body: strings.Repeat("x", 64<<10)},
		"upgrade":          {method: "GET", header: []string{"Connection", "Upgrade", "Upgrade", "chat"}},
		"Connection names the field": {
			method: "GET", header: []string{"Connection", "CDN-Loop, close", "CDN-Loop", "cdn.example; a=b"},
		},
	} {
		before := g.counts.loops.Load()
		status, text := ask(t, how.method, urls[0]+"/a", how.body, how.header...)
		if status != http.StatusLoopDetected || !strings.Contains(text, "one of its upstreams leads back to it") {
			t.Errorf("%s: %d %q", name, status, text)
		}
		fatal.Same(t, g.counts.loops.Load()-before, 1, "%s: times refused", name)
	}
	if n := strings.Count(log.String(), "came back to the gateway"); n == 0 || n > 5 {
		t.Errorf("logged %d times: %s", n, log.String())
	}
}

// TestGatewayBehindGatewayIsNoLoop holds that each adds its mark to those which
// came, and that those pass as they were sent.
func TestGatewayBehindGatewayIsNoLoop(t *testing.T) {
	seen := make(chan []string, 1)
	origin := serving(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header[inbound.LoopHeader] }))
	ls, urls := facing(t, 2)
	a := behind(t, ls[0], Options{Monolith: quick(urls[1])})
	b := behind(t, ls[1], Options{Monolith: quick(origin)})
	if status, _ := ask(t, "GET", urls[0], "", "CDN-Loop", "cdn.example; a=b, other", "CDN-Loop", "third"); status != http.StatusOK {
		t.Errorf("answered %d", status)
	}
	if got, want := <-seen, []string{"cdn.example; a=b, other", "third", a.requests.Mark, b.requests.Mark}; !slices.Equal(got, want) {
		t.Errorf("the origin saw %q, want %q", got, want)
	}
	if a.requests.Mark == b.requests.Mark || len(a.requests.Mark) < len("whittle-")+26 || !http1.IsToken(a.requests.Mark) {
		t.Errorf("marks %q and %q", a.requests.Mark, b.requests.Mark)
	}
}

// TestNobodyElsesMarkIsRefused holds that a mark must be this gateway's, whole.
func TestNobodyElsesMarkIsRefused(t *testing.T) {
	g := made(t, Options{Monolith: quick(nobody)})
	for value, want := range map[string]bool{
		g.requests.Mark: true,
		"cdn.example, " + g.requests.Mark + "; a=b": true,
		strings.ToUpper(g.requests.Mark):            true,
		g.requests.Mark + "x":                       false,
		g.requests.Mark[:20]:                        false,
		"whittle-":                                  false,
		"":                                          false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("CDN-Loop", value)
		fatal.Same(t, g.requests.Read(r).Looped, want, "%q", value)
	}
	fatal.Same(t, textproto.CanonicalMIMEHeaderKey("CDN-Loop"), inbound.LoopHeader, "net/http spells the field in another way")
}
