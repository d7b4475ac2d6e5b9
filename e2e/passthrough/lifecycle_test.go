package passthrough

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// TestConnectionLimit lets the third client wait until one of the two before it
// has gone.
func TestConnectionLimit(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	g := through(t, u.URL, func(o *options) { o.Limits.Connections = 2 })
	ask := func(c net.Conn) (*http.Response, error) {
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		return http.ReadResponse(bufio.NewReader(c), nil)
	}
	one, two := dial(t, g.addr), dial(t, g.addr)
	for _, c := range []net.Conn{one, two} {
		_, err := ask(c)
		fatal.If(t, err)
	}
	three := dial(t, g.addr) // the kernel takes it, the gateway does not yet
	responded := make(chan error, 1)
	go func() {
		_, err := ask(three)
		responded <- err
	}()
	_, err := ask(one) // those inside go on
	fatal.If(t, err)
	select {
	case <-responded:
		t.Fatal("a third connection was served")
	default:
	}
	_ = two.Close()
	if err := <-responded; err != nil {
		t.Errorf("after one had gone: %v", err)
	}
}

// TestStopFinishesWhatIsUnderWay ends the gateway while a request is being
// answered: that one is answered whole, and nobody new gets in.
func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	u := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "begun ")
		w.(http.Flusher).Flush()
		close(arrived)
		<-release
		_, _ = io.WriteString(w, "and ended")
	})
	g := through(t, u.URL)
	body := make(chan string, 1)
	go func() {
		resp, err := client(t).Get(g.url("/"))
		if err != nil {
			body <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			b = append(b, err.Error()...)
		}
		body <- string(b)
	}()
	<-arrived
	stopped := make(chan error, 1)
	go func() { stopped <- g.stop() }()
	process.Until(t, "the listener closed", func() bool {
		c, err := net.Dial("tcp", g.addr)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	select {
	case err := <-stopped:
		t.Fatalf("it ended under a request: %v", err)
	default:
	}
	close(release)
	fatal.Same(t, <-body, "begun and ended", "the body")
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestStopSaysWhichResponseIsTheLast: a response that begins after the order to end says that
// its connection ends, though its request came before.
func TestStopSaysWhichResponseIsTheLast(t *testing.T) {
	if process.NetHTTP {
		return // net/http says so from a second later on
	}
	arrived, release := make(chan struct{}), make(chan struct{})
	u := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			arrived <- struct{}{}
			<-release
		}
	})
	g := through(t, u.URL)
	asks := map[string]net.Conn{
		"GET /in-bytes HTTP/1.1\r\nHost: h\r\n\r\n":                                        nil,
		"POST /in-full HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": nil,
	}
	for ask := range asks {
		asks[ask] = dial(t, g.addr)
		_, err := io.WriteString(asks[ask], ask)
		fatal.If(t, err)
		<-arrived
	}
	responds := func(c net.Conn) *http.Response {
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		fatal.If(t, err)
		return resp
	}
	other := dial(t, g.addr)
	stopped := make(chan error, 1)
	go func() { stopped <- g.stop() }()
	process.Until(t, "it ends", func() bool {
		_, err := io.WriteString(other, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		resp, none := http.ReadResponse(bufio.NewReader(other), nil)
		return err != nil || none != nil || resp.Close
	})
	close(release)
	for ask, c := range asks {
		fatal.Same(t, responds(c).Close, true, "the response to %q is the last", ask)
	}
	fatal.If(t, <-stopped)
}

// TestStopCutsWhatNeverEnds has an event stream and a tunnel open, which no
// grace would see the end of.
func TestStopCutsWhatNeverEnds(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			c, brw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			_, _ = io.ReadAll(brw)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	g := through(t, u.URL, func(o *options) { o.Limits.Grace = 50 * time.Millisecond })
	events, tunnel := dial(t, g.addr), dial(t, g.addr)
	_, _ = io.WriteString(events, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	_, _ = io.WriteString(tunnel, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	for _, c := range []net.Conn{events, tunnel} {
		_, err := http.ReadResponse(bufio.NewReader(c), nil)
		fatal.If(t, err)
	}
	if err := g.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	for _, c := range []net.Conn{events, tunnel} {
		if _, err := io.ReadAll(c); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("a connection was left open: %v", err)
		}
	}
}

// TestRequestIDs: a trusted peer's id is kept if it is one, and nobody else's.
func TestRequestIDs(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header["X-Request-Id"], "|"))
	})
	for _, trust := range []bool{false, true} {
		g := through(t, u.URL, func(o *options) {
			if o.RequestID = "X-Request-Id"; trust {
				o.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}
		})
		for _, c := range []struct {
			ids  []string
			good bool
		}{
			{[]string{"abc-124\r\nConnection: x-request-id"}, true},
			{[]string{"abc-123"}, true},
			{[]string{strings.Repeat("x", 200)}, true},
			{[]string{strings.Repeat("x", 201)}, false},
			{[]string{"a b"}, false},
			{[]string{"é"}, false},
			{[]string{""}, false},
			{[]string{"a", "b"}, false},
			{nil, false},
		} {
			text := "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
			for _, id := range c.ids {
				text += "x-request-id: " + id + "\r\n"
			}
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw(t, g.addr, text+"\r\n"))), nil)
			fatal.If(t, err)
			got := mustRead(t, resp.Body)
			if kept := c.good && trust; kept && got != firstLine(c.ids[0]) || !kept && len(got) != 32 {
				t.Errorf("%q, trusted %v: the upstream got %q", c.ids, trust, got)
			}
		}
	}
}
