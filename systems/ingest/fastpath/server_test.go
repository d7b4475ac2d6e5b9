package fastpath

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// net/http keeps a connection of which it refused the head or the body for
	// half a second more.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// timeout bounds what a test waits for.
const timeout = 20 * time.Second

// echo tells what it was asked, so that two ways of asking can be compared.
func echo(w http.ResponseWriter, r *http.Request) {
	var all []string
	for name, values := range r.Header {
		all = append(all, fmt.Sprintf("%s=%q", name, values))
	}
	slices.Sort(all)
	body, err := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-Odd", "a\r\nb")
	fmt.Fprintf(w, "%s %q %q %q %q %s %d %v %v %q %v", r.Method, r.RequestURI, r.URL.String(), r.URL.Path, r.Host, r.Proto, r.ContentLength, r.TransferEncoding, all, body, err)
}

// handlers are handlers by path; any other path echoes.
var handlers = map[string]http.HandlerFunc{
	"/unread": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "no")
	},
	"/long": func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", "100000")
		for range 10 {
			_, _ = io.WriteString(w, strings.Repeat("y", 10_000))
		}
	},
	"/less": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
		_, _ = io.WriteString(w, "less")
	},
	"/more": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		_, _ = io.WriteString(w, "more")
		if n, err := io.WriteString(w, "!"); n != 0 || err == nil {
			_, _ = io.WriteString(w, "?")
		}
	},
	"/nothing": func(http.ResponseWriter, *http.Request) {},
	"/204": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		_, _ = io.WriteString(w, "never")
	},
	"/close": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "bye")
	},
	"/whole": func(w http.ResponseWriter, _ *http.Request) { whole(w) },
	"/whole-read": func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if !whole(w) {
			return
		}
		if n, err := io.WriteString(w, "more than was said"); n != 0 || err == nil {
			panic("a whole response became longer")
		}
	},
	"/whole-panic": func(w http.ResponseWriter, _ *http.Request) {
		whole(w)
		panic("as the test wants it")
	},
	"/odd": func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h["a b"], h["x:y"], h[""] = []string{"1"}, []string{"2"}, []string{"3"}
		h["X-A"] = []string{"tab\tkept", "line\nend", ""}
		h.Set("Content-Type", "text/plain")
		w.WriteHeader(599)
		_, _ = io.WriteString(w, "odd")
	},
	"/1000": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(1000)
		_, _ = io.WriteString(w, "never")
	},
	"/panic": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "never")
		panic("as the test wants it")
	},
}

// whole responds in one call where the server takes that.
func whole(w http.ResponseWriter) (inOne bool) {
	if ours, ok := w.(WholeWriter); ok {
		ours.WriteWhole(201, []byte("Content-Type: text/plain\r\nX-A: b\r\n"), []byte("all of it"))
		return true
	}
	w.Header()["Content-Type"], w.Header()["X-A"] = []string{"text/plain"}, []string{"b"}
	w.Header()["Content-Length"] = []string{"9"}
	w.WriteHeader(201)
	_, _ = io.WriteString(w, "all of it")
	return false
}

func play(w http.ResponseWriter, r *http.Request) {
	if handler, ok := handlers[r.URL.Path]; ok {
		handler(w, r)
		return
	}
	echo(w, r)
}

// testServer is a Server on a real socket.
type testServer struct {
	*testing.T
	server *Server
	addr   string
	ended  chan error
}

func open(t *testing.T, h *http.Server) *testServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if h.Handler == nil {
		h.Handler = http.HandlerFunc(play)
	}
	if h.ErrorLog == nil {
		h.ErrorLog = log.New(io.Discard, "", 0)
	}
	h.MaxHeaderBytes = 16 << 10
	s := &testServer{T: t, server: New(h), addr: l.Addr().String(), ended: make(chan error, 1)}
	go func() { s.ended <- s.server.Serve(l) }()
	t.Cleanup(func() {
		_ = s.server.Close()
		if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve gave %v", err)
		}
	})
	return s
}

func (s *testServer) dial() *net.TCPConn {
	s.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		s.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// exchange sends pieces as they are, ends its side, and gives all that comes back.
func (s *testServer) exchange(pieces ...string) string {
	s.Helper()
	c := s.dial()
	defer c.Close()
	for _, p := range pieces {
		if _, err := io.WriteString(c, p); err != nil {
			s.Fatal(err)
		}
	}
	if err := c.CloseWrite(); err != nil {
		s.Fatal(err)
	}
	back, _ := io.ReadAll(c)
	return string(back)
}

// responsesIn reads the responses, without what tells the time.
func responsesIn(t *testing.T, text string) (all []string) {
	t.Helper()
	r := bufio.NewReader(strings.NewReader(text))
	for {
		if _, err := r.Peek(1); err != nil {
			return all
		}
		a, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		body, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		if a.StatusCode >= 200 && a.StatusCode < 400 && a.Header.Get("Date") == "" {
			t.Errorf("no date in %q", text)
		}
		// Of a long response whose length was not given net/http makes chunks.
		a.Header.Del("Date")
		a.Header.Del("Content-Length")
		all = append(all, fmt.Sprint(a.Status, a.Header, " ", a.Close, " ", string(body)))
	}
}

func post(path, body string, lines ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s\r\n%s", path, len(body), strings.Join(append(lines, ""), "\r\n"), body)
}

// stricter are what net/http takes, or refuses with another status, and
// internal/http1 does not take: the server refuses it before net/http sees the
// end of its head.
var stricter = []string{"HTTP/1.2", "bare LF", "some bare LF", "folded", "lengths that agree", "length and chunked", "an odd encoding", "a list of lengths", "an absolute target", "HTTP/2"}

// TestResponsesAsNetHTTP sends everyday requests and odd ones to the fast path and to
// net/http's own server: what comes back is the same, but for what is refused
// because two servers could read it differently.
func TestResponsesAsNetHTTP(t *testing.T) {
	ours := open(t, &http.Server{})
	plain := &http.Server{Handler: http.HandlerFunc(play), MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = plain.Serve(l) }()
	defer plain.Close()
	theirs := &testServer{T: t, addr: l.Addr().String()}
	few := "POST /a?b=c&d HTTP/1.1\r\nhost: h:80\r\nX-One:  1 \r\nx-ONE: 2\r\nContent-length: 3\r\nCookie: a=b\xff\r\n\r\nabc"
	for name, text := range map[string]string{
		"a few fields":        few,
		"two":                 few + post("/import", "hello", "Connection: keep-alive"),
		"the same twice":      few + few + few,
		"other lengths":       post("/a", "1") + post("/a", "22") + post("/a", strings.Repeat("3", 5000)) + post("/a", "1"),
		"longer than buffers": post("/a", strings.Repeat("b", maxBody)) + few,
		"too long for us":     post("/a", strings.Repeat("b", maxBody+1)) + few,
		"unread":              post("/unread", "body") + few,
		"unread and long":     post("/unread", strings.Repeat("b", 200_000)) + few,
		"a long response":     post("/long", "x") + few,
		"no response":         post("/nothing", "x") + few,
		"no body":             post("/204", "x") + few,
		"closing":             post("/close", "x") + few,
		"asked to close":      post("/a", "x", "Connection: close") + few,
		"an odd response":     post("/odd", "x") + few,
		"an odd status":       few + post("/1000", "x"),
		"panic":               few + post("/panic", "x"),
		"a whole response":    post("/whole", "x") + few + post("/whole-read", "x") + few,
		"whole, long unread":  post("/whole", strings.Repeat("b", 200_000)) + few,
		"whole, long read":    post("/whole-read", strings.Repeat("b", 200_000)) + few,
		"panic after whole":   few + post("/whole-panic", "x"),
		"GET behind POST":     few + "GET /g HTTP/1.1\r\nHost: x\r\n\r\n" + few,
		"chunked behind POST": few + "POST /g HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + few,
		"100-continue":        few + post("/a", "x", "Expect: 100-continue"),
		"HTTP/1.0":            "POST /g HTTP/1.0\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.2":            "POST /g HTTP/1.2\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
		"no length":           "POST /g HTTP/1.1\r\nHost: x\r\n\r\n",
		"length 0":            post("/a", "") + few,
		"bare LF":             "POST /g HTTP/1.1\nHost: x\nContent-Length: 1\n\nx",
		"some bare LF":        "POST /g HTTP/1.1\r\nHost: x\nContent-Length: 1\r\n\r\nx",
		"bare CR":             post("/a", "x", "X-A: b\rc"),
		"folded":              post("/a", "x", "X-A: b\r\n c"),
		"blank before colon":  post("/a", "x", "X-A : b"),
		"no name":             post("/a", "x", ": b"),
		"no colon":            post("/a", "x", "X-A"),
		"NUL":                 post("/a", "x", "X-A: \x00"),
		"lengths that differ": post("/a", "x", "Content-Length: 2"),
		"lengths that agree":  post("/a", "x", "Content-Length: 1"),
		"a list of lengths":   "POST /g HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\nx",
		"a signed length":     "POST /g HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\nx",
		"a length of zeros":   "POST /g HTTP/1.1\r\nHost: x\r\nContent-Length: 0001\r\n\r\nx",
		"length and chunked":  post("/a", "0\r\n\r\n", "Transfer-Encoding: chunked"),
		"an odd encoding":     post("/a", "x", "Transfer-Encoding: xchunked"),
		"Pragma":              post("/a", "x", "Pragma: no-cache"),
		"no host":             "POST /g HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
		"two hosts":           post("/a", "x", "Host: y"),
		"a bad host":          "POST /g HTTP/1.1\r\nHost: x/y\r\nContent-Length: 1\r\n\r\nx",
		"an absolute target":  "POST http://x/g HTTP/1.1\r\nHost: y\r\nContent-Length: 1\r\n\r\nx",
		"an escaped path":     post("/a%20b", "x"),
		"two slashes":         post("//a/b", "x"),
		"a bare query":        post("/a?", "x"),
		"a space in a target": post("/a b", "x"),
		"a long head":         post("/a", "x", "X-A: "+strings.Repeat("v", 8000)) + few,
		"too long a head":     post("/a", "x", "X-A: "+strings.Repeat("v", 64_000)),
		"nothing":             "",
		"half a head":         "POST / HTTP/1.1\r\nHo",
		"half a body":         "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf",
		"HTTP/2":              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"TLS":                 "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	} {
		want, got := theirs.exchange(text), ours.exchange(text)
		w, g := responsesIn(t, want), responsesIn(t, got)
		if name == "half a body" {
			w[0] = strings.Replace(w[0], " false ", " true ", 1) // the fast path says so, net/http only does
		}
		if slices.Contains(stricter, name) {
			if len(g) != 1 || !strings.HasPrefix(g[0], "400 ") {
				t.Errorf("%s is not refused: %.900q", name, got)
			}
			continue
		}
		if last := len(w) - 1; len(g) == len(w) && last >= 0 && strings.HasPrefix(w[last], "400 ") && strings.HasPrefix(g[last], "400 ") {
			w[last], g[last] = "", "" // net/http has other words for what is refused before
		}
		if !slices.Equal(w, g) {
			t.Errorf("%s: the fast path responds\n%.900q\nand net/http\n%.900q", name, got, want)
		}
	}
}

// TestLengthIsKept has handlers write less and more than they said: a response
// that is cut short ends its connection, and nothing is added to one.
func TestLengthIsKept(t *testing.T) {
	s := open(t, &http.Server{})
	if got := s.exchange(post("/less", "x"), post("/a", "x")); !strings.HasSuffix(got, "\r\n\r\nless") || strings.Count(got, "HTTP/1.1") != 1 {
		t.Errorf("%q", got)
	}
	if got := s.exchange(post("/more", "x"), post("/more", "x")); !strings.HasSuffix(got, "\r\n\r\nmore") || strings.Count(got, "moreHTTP/1.1") != 1 {
		t.Errorf("%q", got)
	}
}

// TestTornHeads sends a request in two pieces, torn at each of its bytes, and
// in single bytes.
func TestTornHeads(t *testing.T) {
	s := open(t, &http.Server{})
	text := post("/torn", "body", "X-A: b")
	c := s.dial()
	r := bufio.NewReader(c)
	read := func(what string) {
		t.Helper()
		a, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, err := io.ReadAll(a.Body)
		if err != nil || a.StatusCode != 200 || !strings.Contains(string(got), `"body" <nil>`) {
			t.Fatalf("%s: %d %q %v", what, a.StatusCode, got, err)
		}
	}
	send := func(piece string) {
		t.Helper()
		if _, err := io.WriteString(c, piece); err != nil {
			t.Fatal(err)
		}
	}
	for at := range text {
		send(text[:at])
		send(text[at:])
		read(fmt.Sprint("torn at ", at))
	}
	for i := range text {
		send(text[i : i+1])
	}
	read("in single bytes")
	// Pipelined, and torn in the middle of what is behind.
	send(text + text + text[:20])
	read("the first")
	read("the second")
	send(text[20:])
	read("the torn third")
}

// TestHandsOverWhatItHasRead finds that a connection that turned odd stays good,
// also where the odd request is torn.
func TestHandsOverWhatItHasRead(t *testing.T) {
	s := open(t, &http.Server{})
	c := s.dial()
	r := bufio.NewReader(c)
	for _, piece := range []string{post("/a", "1"), "GE", "T /b HTTP/1.1\r\nHost: x\r\n", "\r\n", post("/c", "3")} {
		if _, err := io.WriteString(c, piece); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{`POST "/a"`, `GET "/b"`, `POST "/c"`} {
		a, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(a.Body); err != nil || !strings.HasPrefix(string(got), want) {
			t.Fatalf("%q (%v), want %s", got, err, want)
		}
	}
}

// TestClosesWhoIsSlow waits for the server to end connections that send nothing,
// half a head, half a body, or nothing more.
func TestClosesWhoIsSlow(t *testing.T) {
	const short = 50 * time.Millisecond
	heads := open(t, &http.Server{ReadHeaderTimeout: short, ReadTimeout: 2 * short, IdleTimeout: short, WriteTimeout: timeout})
	// Where there is a response, the head must not be late on a busy machine.
	bodies := open(t, &http.Server{ReadHeaderTimeout: timeout, ReadTimeout: 2 * short, IdleTimeout: short, WriteTimeout: timeout})
	for name, text := range map[string]string{
		"nothing":        "",
		"half a head":    "POST / HTTP/1.1\r\nHost: x\r\nCont",
		"half a word":    "PO",
		"half a body":    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf",
		"half an unread": "POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf",
		"nothing more":   post("/a", "x"),
		"half of a next": post("/a", "x") + "POST / HTTP/1.1\r\nHost: x\r\nCont",
	} {
		s := heads
		if name == "half a body" || name == "half an unread" {
			s = bodies
		}
		c := s.dial()
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		back, err := io.ReadAll(c)
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			t.Errorf("%s: the connection stays", name)
		}
		late := strings.Contains(string(back), "i/o timeout") && strings.Contains(string(back), "Connection: close")
		if name == "half a body" && !late {
			t.Errorf("%s: %q", name, back)
		}
		if name == "half an unread" && (!strings.Contains(string(back), "401") || !strings.Contains(string(back), "Connection: close")) {
			t.Errorf("%s: %q", name, back)
		}
	}
}

// TestAGiantBodyThatIsRefused is sent as most clients do it, in whole before they read:
// the response reaches them, however much there is to send.
func TestAGiantBodyThatIsRefused(t *testing.T) {
	const pieces = 32 // of a MiB: more than the sockets' buffers hold
	s := open(t, &http.Server{})
	piece := strings.Repeat("x", 1<<20)
	for name, form := range map[string]struct{ head, before, after string }{
		"a length": {head: fmt.Sprintf("Content-Length: %d", pieces<<20)},
		"chunks":   {head: "Transfer-Encoding: chunked", before: "100000\r\n", after: "\r\n"},
	} {
		c := s.dial()
		if _, err := io.WriteString(c, "POST /unread HTTP/1.1\r\nHost: x\r\n"+form.head+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		for range pieces {
			if _, err := io.WriteString(c, form.before+piece+form.after); err != nil {
				t.Fatalf("%s: it cannot be sent: %v", name, err)
			}
		}
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || a.StatusCode != http.StatusUnauthorized {
			t.Fatalf("%s: %+v, %v", name, a, err)
		}
		a.Body.Close()
	}
}

// TestClientGoneInMidBody: the handler gets an error.
func TestClientGoneInMidBody(t *testing.T) {
	failed := make(chan error, 1)
	s := open(t, &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		failed <- err
	})})
	c := s.dial()
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"); err != nil {
		t.Fatal(err)
	}
	c.Close()
	select {
	case err := <-failed:
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v", err)
		}
	case <-time.After(timeout):
		t.Fatal("the handler got no error")
	}
}

func TestPanicEndsTheConnection(t *testing.T) {
	var said lockedBuffer
	s := open(t, &http.Server{ErrorLog: log.New(&said, "", 0)})
	if got := s.exchange(post("/panic", "x")); got != "" {
		t.Errorf("the response is %q", got)
	}
	if !strings.Contains(said.String(), "as the test wants it") {
		t.Errorf("logged %q", said.String())
	}
	if got := s.exchange(post("/a", "x")); !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") {
		t.Errorf("the next response is %q", got)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestShutdownFinishesRequestsUnderWay ends a server that has idle connections,
// one of net/http's, and requests in flight: these get their response, which says that
// the connection ends.
func TestShutdownFinishesRequestsUnderWay(t *testing.T) {
	entered, gate := make(chan struct{}), make(chan struct{})
	s := open(t, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			entered <- struct{}{}
			<-gate
		}
		echo(w, r)
	})})
	idle, fresh, waiting, others := s.dial(), s.dial(), s.dial(), s.dial()
	for _, c := range []net.Conn{idle, waiting, others} {
		if _, err := io.WriteString(c, post("/a", "x")); err != nil {
			t.Fatal(err)
		}
		if a, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || a.Close {
			t.Fatal(a, err)
		}
	}
	for c, text := range map[net.Conn]string{waiting: post("/wait", "x"), others: post("/wait", "x", "Pragma: a")} {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		<-entered
	}
	ended := make(chan error)
	go func() { ended <- s.server.Shutdown(t.Context()) }()
	for _, c := range []net.Conn{idle, fresh} {
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("an idle connection gave %d bytes, %v", n, err)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("ended with a request under way: %v", err)
	default:
	}
	close(gate)
	for _, c := range []net.Conn{waiting, others} {
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		// net/http may not have heard of it yet.
		if err != nil || a.StatusCode != 200 || !a.Close && c == waiting {
			t.Errorf("%+v, %v", a, err)
		}
		c.Close()
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", s.addr); err == nil {
		t.Error("it still listens")
	}
}

func TestShutdownGivesUp(t *testing.T) {
	entered, gate := make(chan struct{}), make(chan struct{})
	s := open(t, &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		select {
		case <-gate:
		case <-r.Context().Done():
		}
	})})
	c := s.dial()
	if _, err := io.WriteString(c, post("/", "x")); err != nil {
		t.Fatal(err)
	}
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.server.Shutdown(ctx); err == nil {
		t.Error("it ended with a request under way")
	}
	if err := s.server.Close(); err != nil { // which ends the request's context
		t.Error(err)
	}
	if back, _ := io.ReadAll(c); len(back) > 0 {
		t.Errorf("%q", back)
	}
}

// TestServeSaysWhatFailed closes the listener from outside.
func TestServeSaysWhatFailed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(&http.Server{Handler: http.HandlerFunc(echo)})
	l.Close()
	if err := s.Serve(l); err == nil || errors.Is(err, http.ErrServerClosed) {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("%v", err)
	}
}
