package wire

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"whittle/internal/http1/smugglingtest"
)

// newWire reads from text, in pieces as small as they come.
func newWire(in io.Reader) *responseReader {
	r := newResponseReader(in, time.Now, 16)
	return &r
}

// FuzzResponse checks that no bytes make the reader crash, hold more than its
// bounds, or claim more than it was given; and that reading in other pieces
// gives the same response.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 3)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), 100)
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nx"), 0)
	for _, c := range smugglingtest.Cases("response") {
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
