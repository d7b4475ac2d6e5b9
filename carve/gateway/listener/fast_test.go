package listener

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"whittle/internal/fatal"
	"whittle/internal/http1/smugglingtest"
)

// reader is a handler that notes what it is asked, and echoes it.
type reader struct {
	mu    sync.Mutex // guards the following
	asked []string
}

func (h *reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var head bytes.Buffer
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		if name != "Pragma" && name != "Cache-Control" { // net/http adds the one where it sees the other
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&head, "%s=%q ", name, r.Header[name])
	}
	asked := fmt.Sprintf("%s %q %q %q %q %s%q %d %v %q %v", r.Method, r.RequestURI, r.URL.Path, r.URL.RawPath, r.URL.RawQuery,
		head.String(), r.Host, r.ContentLength, r.Close, body, err != nil)
	h.mu.Lock()
	h.asked = append(h.asked, asked)
	h.mu.Unlock()
	if err != nil {
		c, _, _ := ConnOf(r)
		c.EndRequests()
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodPut { // in pieces of unknown length
		_, _ = w.Write(body)
		w.(http.Flusher).Flush()
	}
	_, _ = w.Write(body)
}

// taken gives what was asked since the last time.
func (h *reader) taken() (asked []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked, h.asked = h.asked, nil
	return asked
}

// rawReader takes requests in bytes, some of which it sends on in net/http's form.
type rawReader struct{ *reader }

func (h rawReader) ServeRaw(r *Raw) bool {
	if len(r.Path)%3 == 0 {
		return false
	}
	body := bytes.Clone(r.Body)
	length := r.Head.ContentLength()
	w, full := r.Full()
	full.Body = io.NopCloser(bytes.NewReader(body))
	full.ContentLength = max(0, length)
	h.ServeHTTP(w, full)
	return true
}

// listening serves a handler over a port of its own until the test ends.
func listening(t testing.TB, c Config) (addr string) {
	t.Helper()
	c.Log = slog.New(slog.DiscardHandler)
	c.Connections, c.HeaderBytes, c.Streams = 1000, 64<<10, 10
	c.HeaderTimeout, c.IdleTimeout, c.StallTimeout, c.Grace = 10*time.Second, 20*time.Second, 20*time.Second, 10*time.Second
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- New(c).Serve(ctx, Listener{Listener: l}) }()
	t.Cleanup(func() {
		stop()
		fatal.If(t, <-done)
	})
	return l.Addr().String()
}

// conversation sends bytes, no more after them, and gives the statuses and bodies of
// what comes back until the connection ends.
func conversation(t testing.TB, addr string, sent []byte) (responses []string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	fatal.If(t, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	go func() {
		_, _ = c.Write(sent)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	r := bufio.NewReader(c)
	methods := methodsOf(sent)
	for i := 0; ; i++ {
		q := &http.Request{Method: http.MethodGet}
		if i < len(methods) {
			q.Method = methods[i]
		}
		resp, err := http.ReadResponse(r, q)
		if err != nil {
			return responses
		}
		body, err := io.ReadAll(resp.Body)
		text := fmt.Sprintf("%d %q %v", resp.StatusCode, body, err != nil)
		if resp.StatusCode == http.StatusBadRequest {
			text = "400" // the texts of handlers and of net/http
		}
		responses = append(responses, text)
	}
}

// leading leaves out a refusal at the end: net/http sends none where what is malformed
// came in the same block as a request before it.
func leading(responses []string) []string {
	if n := len(responses); n > 0 && responses[n-1] == "400" {
		return responses[:n-1]
	}
	return responses
}

// methodsOf finds which of the requests are HEAD, as far as responses need it.
func methodsOf(sent []byte) (methods []string) {
	r := bufio.NewReader(bytes.NewReader(sent))
	for {
		q, err := http.ReadRequest(r)
		if err != nil {
			return methods
		}
		_, _ = io.Copy(io.Discard, q.Body)
		methods = append(methods, q.Method)
	}
}

// FuzzFastPath holds the fast path to net/http's reading: the same requests, with the same
// responses, up to the same end, whatever the bytes.
func FuzzFastPath(f *testing.F) {
	const host = "Host: h\r\n"
	get := "GET / HTTP/1.1\r\n" + host + "\r\n"
	post := "POST /a?b=c HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc"
	chunks := "PUT /p%20q HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n"
	for _, text := range []string{
		get, get + get, post + get, chunks + post, get + "\r\n" + get, get + "\r\n\r\n" + get, "\r\n" + get,
		get[:len(get)-2], get + get[:20], post[:len(post)-1], get + chunks[:len(chunks)-5], "HEAD / HTTP/1.1\r\n" + host + "\r\n" + get,
		"GET / HTTP/1.0\r\n\r\n" + get, "GET / HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n" + get,
		"GET / HTTP/1.1\r\n" + host + "Connection: x, y\r\nX: 1\r\n\r\n", "GET http://h/a HTTP/1.1\r\n" + host + "\r\n" + get,
		"OPTIONS * HTTP/1.1\r\n" + host + "\r\n" + get, "GET /% HTTP/1.1\r\n" + host + "\r\n", "GET //a//b?? HTTP/1.1\r\n" + host + "\r\n" + get,
		"POST / HTTP/1.1\r\n" + host + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc" + get,
		"POST / HTTP/1.1\r\n" + host + "Trailer: A\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n" + get,
		"GET / HTTP/1.1\r\n" + host + "a: 1\r\nA: 2\r\naB-cD: \t3 \r\nPragma: no-cache\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("x", 9000) + "\r\n\r\n" + get,
		"GET / HTTP/1.1\r\n" + host + strings.Repeat("X: y\r\n", 100) + "\r\n" + get,
		"POST / HTTP/1.1\r\n" + host + "Content-Length: 20000\r\n\r\n" + strings.Repeat("x", 20000) + get,
		"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n4e20\r\n" + strings.Repeat("x", 20000) + "\r\n0\r\n\r\n" + get,
	} {
		f.Add([]byte(text))
	}
	for _, c := range smugglingtest.Cases("request") {
		f.Add([]byte(c.Message))
		f.Add([]byte(get + c.Message + get))
	}
	var fast, plain, raw reader
	rawAt := listening(f, Config{Handler: rawReader{&raw}})
	fastAt, plainAt := listening(f, Config{Handler: &fast}), listening(f, Config{Handler: &plain, NetHTTP: true})
	f.Fuzz(func(t *testing.T, sent []byte) {
		text := strings.ToLower(string(sent))
		if strings.Contains(text, "pri *") || strings.Contains(text, "upgrade") {
			return // another protocol, which net/http reads either way
		}
		if strings.Contains(text, " ;") || strings.Contains(text, "\t;") {
			return // blanks before a chunk's extension: RFC 9112 allows them, net/http does not
		}
		got, want, inBytes := conversation(t, fastAt, sent), conversation(t, plainAt, sent), conversation(t, rawAt, sent)
		read, readPlain, readBytes := fast.taken(), plain.taken(), raw.taken()
		if !slices.Equal(read, readPlain) {
			t.Errorf("of %q\nthe fast path read %q\nnet/http     %q", sent, read, readPlain)
		}
		if !slices.Equal(readBytes, read) || !slices.Equal(inBytes, got) {
			t.Errorf("of %q\nin bytes %q, %q\nelse     %q, %q", sent, readBytes, inBytes, read, got)
		}
		if !slices.Equal(leading(got), leading(want)) {
			t.Errorf("to %q\nthe fast path responds %q\nnet/http          %q", sent, got, want)
		}
	})
}

// TestPrefaceInPieces: HTTP/2 by prior knowledge is known whatever the pieces are in
// which it begins, and what only begins like it is HTTP/1.1.
func TestPrefaceInPieces(t *testing.T) {
	addr := listening(t, Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto+r.Method) })})
	const get = "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x00\x06\x01\x05\x00\x00\x00\x01\x82\x86\x84\x41\x01h"
	for _, tt := range []struct{ sent, want string }{
		{http2.ClientPreface + get, "HTTP/2.0GET"},
		{"PRI / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "HTTP/1.1PRI"},
		{"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "HTTP/1.1POST"},
		{"PRI * HTTP/1.1\r\nHost: h\r\n\r\n", "400 Bad Request"},
		{"PRI * HTTP/2.1\r\n\r\n", "400 Bad Request"},
	} {
		for _, size := range []int{1, 7, 16, 24, 1000} {
			c, err := net.Dial("tcp", addr)
			fatal.If(t, err)
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			for piece := range slices.Chunk([]byte(tt.sent), size) {
				_, err := c.Write(piece)
				fatal.If(t, err)
			}
			var came []byte
			for b := make([]byte, 1000); !bytes.Contains(came, []byte(tt.want)); {
				n, err := c.Read(b)
				if came = append(came, b[:n]...); err != nil {
					t.Errorf("%q in pieces of %d: %q, %v", tt.sent, size, came, err)
					break
				}
			}
			_ = c.Close()
		}
	}
}
