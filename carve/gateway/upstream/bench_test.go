package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"whittle"
)

// repeated is a connection on which the same response comes again and again.
type repeated struct {
	net.Conn
	response []byte
}

func (r *repeated) Read(p []byte) (int, error)       { return copy(p, r.response), nil }
func (r *repeated) Write(p []byte) (int, error)      { return len(p), nil }
func (r *repeated) SetDeadline(time.Time) error      { return nil }
func (r *repeated) SetReadDeadline(time.Time) error  { return nil }
func (r *repeated) SetWriteDeadline(time.Time) error { return nil }
func (r *repeated) Close() error                     { return nil }

// BenchmarkExchange reads a response with its body, and copies its header.
func BenchmarkExchange(b *testing.B) {
	const head = "HTTP/1.1 200 OK\r\nDate: Mon, 23 Nov 2026 00:00:00 GMT\r\nContent-Type: application/json\r\n" +
		"Cache-Control: no-store\r\nX-Request-Id: 0123456789abcdef0123456789abcdef\r\n"
	for name, rest := range map[string]string{
		"length": "Content-Length: 27\r\n\r\n012345678901234567890123456",
		"chunks": "Transfer-Encoding: chunked\r\n\r\n1b\r\n012345678901234567890123456\r\n0\r\n\r\n",
		"long":   "Content-Length: 6000\r\n\r\n" + strings.Repeat("x", 6000),
	} {
		b.Run(name, func(b *testing.B) {
			c := newConn(newPool(nil, &slots{limit: 1}, patienceOf(&whittle.Upstream{})), &repeated{response: []byte(head + rest)}, "")
			fields := http.Header{}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.exchange(context.Background(), nil, false, time.Second, true, nil); err != nil {
					b.Fatal(err)
				}
				clear(fields)
				c.head.copyTo(fields)
				var err error
				for err == nil {
					_, err = c.framed.next()
				}
				if !errors.Is(err, io.EOF) || len(fields) < 4 {
					b.Fatal(err)
				}
				c.stop()
			}
		})
	}
}
