package hostile

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"whittle/internal/rawtest"
)

// candidate is one way to be hostile.
type candidate struct {
	name string
	// talk has one connection; end is closed with the test.
	talk func(c net.Conn, end <-chan struct{})
	// scheme of its URL; empty: http.
	scheme string
	// streams says that what it sends looks like a long response in good health:
	// users get it as it comes.
	streams bool
}

var candidates = []candidate{
	{name: "hangs before the head", talk: after("", hang)},
	{name: "drips the head", talk: after("", drip("HTTP/1.1 200 OK\r\n", "X-Drip: y\r\n"))},
	{name: "drips the body", talk: after("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", drip("", "x"))},
	{name: "drips chunks", talk: after("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", drip("", "1\r\nx\r\n"))},
	{name: "resets at once", talk: func(c net.Conn, _ <-chan struct{}) { cut(c) }},
	{name: "resets after the request", talk: after("", reset)},
	{name: "resets in the head", talk: after("HTTP/1.1 200 OK\r\nContent-", reset)},
	{name: "resets in the body", talk: after("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc", reset)},
	{name: "closes in the middle of a chunk", talk: after("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc", done)},
	{name: "answers 500", talk: after("HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", done)},
	{name: "answers 503 without end", talk: after("HTTP/1.1 503 No\r\n\r\n", flood("no"))},
	{name: "giant body of known length", talk: after("HTTP/1.1 200 OK\r\nContent-Length: 8589934592\r\n\r\n", flood("x")), streams: true},
	{name: "body without end", talk: after("HTTP/1.1 200 OK\r\n\r\n", flood("x")), streams: true},
	{name: "chunks without end", talk: after("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", flood("20\r\n"+strings.Repeat("x", 32)+"\r\n")), streams: true},
	{name: "one chunk of a size without end", talk: after("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", flood("0"))},
	{name: "head without end", talk: after("HTTP/1.1 200 OK\r\n", flood("X-More: and more\r\n"))},
	{name: "field without end", talk: after("HTTP/1.1 200 OK\r\nX-More: ", flood("more"))},
	{name: "status line without end", talk: after("HTTP/1.1 200 ", flood("OK"))},
	{name: "informational responses without end", talk: after("", flood("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"))},
	{name: "trailer without end", talk: after("HTTP/1.1 200 OK\r\nTrailer: X-A\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", flood("X-A: b\r\n"))},
	{name: "no HTTP", talk: after("", flood("\x00\xff\x16\x03"))},
	{name: "two lengths", talk: after("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", done)},
	{name: "length and chunks", talk: after("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nab", done)},
	{name: "claims more than it sends", talk: after("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nshort", done)},
	{name: "slow TLS handshake", talk: hang, scheme: "https"},
	{name: "TLS that responds in plain text", talk: after400, scheme: "https"},
	{name: "TLS that drips its handshake", talk: drip("\x16\x03\x03\x40\x00", "\x02"), scheme: "https"},
	{name: "never reads", talk: hang},
	{name: "answers without reading", talk: func(c net.Conn, end <-chan struct{}) {
		_, _ = io.WriteString(c, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
		hang(c, end)
	}},
}

type talk = func(c net.Conn, end <-chan struct{})

// after reads one request, answers with raw bytes and goes on with next.
func after(raw string, next talk) talk {
	return func(c net.Conn, end <-chan struct{}) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if _, err := io.WriteString(c, raw); err != nil {
			return
		}
		next(c, end)
	}
}

func after400(c net.Conn, _ <-chan struct{}) {
	_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
}

func done(net.Conn, <-chan struct{})         {}
func hang(_ net.Conn, end <-chan struct{})   { <-end }
func reset(c net.Conn, _ <-chan struct{})    { cut(c) }
func flood(what string) talk                 { return floods(strings.Repeat(what, 64<<10/len(what))) }
func cut(c net.Conn)                         { _ = c.(*net.TCPConn).SetLinger(0) }
func (c candidate) urlOf(addr string) string { return max(c.scheme, "http") + "://" + addr }

// floods writes as fast as the other side takes it.
func floods(block string) talk {
	return func(c net.Conn, end <-chan struct{}) {
		for {
			select {
			case <-end:
				return
			default:
				if _, err := io.WriteString(c, block); err != nil {
					return
				}
			}
		}
	}
}

// drip writes a piece every 20 ms, after a beginning.
func drip(first, piece string) talk {
	return func(c net.Conn, end <-chan struct{}) {
		if _, err := io.WriteString(c, first); err != nil {
			return
		}
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				if _, err := io.WriteString(c, piece); err != nil {
					return
				}
			}
		}
	}
}

// serve runs a hostile candidate until the test ends, and gives its URL.
func (c candidate) serve(t *testing.T) string {
	t.Helper()
	end := make(chan struct{})
	url := rawtest.Serve(t, func(conn net.Conn, _ int) { c.talk(conn, end) })
	t.Cleanup(func() { close(end) }) // before what is open is waited for
	return c.urlOf(strings.TrimPrefix(url, "http://"))
}
