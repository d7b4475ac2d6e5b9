package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"whittle/internal/http1/smuggling"
)

// newWire reads from text, in pieces as small as they come.
func newWire(in io.Reader) *responseReader {
	r := newResponseReader(in, time.Now, 16)
	return &r
}

func TestResponsesAreRead(t *testing.T) {
	for _, c := range []struct {
		name, method, in, body string
		status                 int
		size                   int64
		reusable               bool
	}{
		{"length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", 200, 5, true},
		{"no reason", "GET", "HTTP/1.1 404\r\ncontent-length:0\r\n\r\n", "", 404, 0, true},
		{"chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;x=y\r\nhello\r\nA \r\n, 12345678\r\n0\r\nX: y\r\n\r\n", "hello, 12345678", 200, 15, true},
		{"until close", "GET", "HTTP/1.1 200 OK\r\n\r\nall of it", "all of it", 200, 9, false},
		{"asked to close", "GET", "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 1\r\n\r\nx", "x", 200, 1, false},
		{"an old server", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", "x", 200, 1, false},
		{"an old server that keeps", "GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", "x", 200, 1, true},
		{"head", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", "", 200, 0, true},
		{"no content", "GET", "HTTP/1.1 204 No Content\r\n\r\n", "", 204, 0, true},
		{"not modified", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "", 304, 0, true},
		{"interim", "POST", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "x", 200, 1, true},
		{"the same length twice", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", "x", 200, 1, true},
		{"bytes nobody asked for", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n\r\n", "x", 200, 1, false},
		{"long headers", "GET", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 30_000) + "\r\nContent-Length: 1\r\n\r\nx", "x", 200, 1, true},
	} {
		for how, in := range map[string]io.Reader{
			"whole": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
		} {
			if c.name == "bytes nobody asked for" && how != "whole" {
				continue // they come too late to be seen
			}
			w := newWire(in)
			w.buf = make([]byte, 8192)
			var a response
			if err := w.readResponse(c.method, 100, &a); err != nil {
				t.Errorf("%s, %s: %v", c.name, how, err)
				continue
			}
			if a.status != c.status || string(a.body) != c.body || a.size != c.size || a.reusable != c.reusable {
				t.Errorf("%s, %s: %d %q (%d), reusable %v", c.name, how, a.status, a.body, a.size, a.reusable)
			}
		}
	}
}

func TestWhatIsNotHTTPIsRefused(t *testing.T) {
	for name, in := range map[string]string{
		"another protocol":       "SSH-2.0-OpenSSH_9.6\r\n",
		"HTTP/2":                 "HTTP/2.0 200 OK\r\n\r\n",
		"no status":              "HTTP/1.1 OK\r\n\r\n",
		"a status of two digits": "HTTP/1.1 20 OK\r\n\r\n",
		"a status below 100":     "HTTP/1.1 099 x\r\n\r\n",
		"an upgrade":             "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"no colon":               "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
		"a space in a name":      "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello",
		"a folded line":          "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
		"a bare line feed":       "HTTP/1.1 200 OK\r\nX: a\nContent-Length: 0\r\n\r\n",
		"a negative length":      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"a signed length":        "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx",
		"a huge length":          "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n",
		"two lengths":            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
		"length and chunks":      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"an unknown coding":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"chunked twice":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a chunk without a size": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n;x\r\n",
		"a chunk of 2^60":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n",
		"a chunk too long":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n",
		"endless interim":        strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", maxInterim+1),
		"endless headers":        "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 20_000),
		"an endless chunk line":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 100_000),
		"endless trailers":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("X: y\r\n", 20_000),
	} {
		var a response
		if err := newWire(strings.NewReader(in)).readResponse("GET", 0, &a); !errors.Is(err, errMalformed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestAnResponseCutShortIsNoResponse(t *testing.T) {
	const whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
	for n := range len(whole) {
		var a response
		if err := newWire(strings.NewReader(whole[:n])).readResponse("GET", 0, &a); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %q: %v", whole[:n], err)
		}
	}
}

// FuzzResponse checks that no bytes make the reader crash, hold more than its
// bounds, or claim more than it was given; and that reading in other pieces
// gives the same response.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 3)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), 100)
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nx"), 0)
	for _, c := range smuggling.Cases("response") {
		f.Add([]byte(c.Message), 10)
	}
	f.Fuzz(func(t *testing.T, in []byte, keep int) {
		keep = min(max(keep, 0), 1000)
		read := func(r io.Reader) (response, error) {
			var a response
			w := newWire(r)
			err := w.readResponse("GET", keep, &a)
			if len(a.body) > keep || a.size > int64(len(in)) || len(w.buf) > maxHead+firstBuffer || w.received > int64(len(in)) {
				t.Fatalf("%d bytes kept, size %d, buffer %d, received %d of %d", len(a.body), a.size, len(w.buf), w.received, len(in))
			}
			return a, err
		}
		a, err := read(bytes.NewReader(in))
		b, other := read(iotest.OneByteReader(bytes.NewReader(in)))
		if (err == nil) != (other == nil) {
			t.Fatalf("whole: %v, byte by byte: %v", err, other)
		}
		if err == nil && (a.status != b.status || !bytes.Equal(a.body, b.body) || a.size != b.size) {
			t.Fatalf("whole: %+v, byte by byte: %+v", a, b)
		}
		if err == nil && (a.status < 200 || a.status > 999) {
			t.Fatalf("status %d", a.status)
		}
	})
}

func BenchmarkReadResponse(b *testing.B) {
	const head = "HTTP/1.1 200 OK\r\nDate: Mon, 23 Nov 2026 00:00:00 GMT\r\nContent-Type: application/json\r\n" +
		"Cache-Control: no-store\r\nX-Request-Id: 0123456789abcdef0123456789abcdef\r\n"
	for name, rest := range map[string]string{
		"length": "Content-Length: 27\r\n\r\n012345678901234567890123456",
		"chunks": "Transfer-Encoding: chunked\r\n\r\n1b\r\n012345678901234567890123456\r\n0\r\n\r\n",
		"long":   "Content-Length: 3500\r\n\r\n" + strings.Repeat("x", 3500),
	} {
		b.Run(name, func(b *testing.B) {
			in := []byte(head + rest)
			r := newResponseReader(repeated(in), time.Now, len(in))
			var a response
			b.ReportAllocs()
			for b.Loop() {
				if err := r.readResponse("GET", 100, &a); err != nil || !a.reusable {
					b.Fatal(err)
				}
			}
		})
	}
}

// repeated is a connection on which the same response comes again and again.
type repeated []byte

func (r repeated) Read(p []byte) (int, error) { return copy(p, r), nil }
